// Manifests for Kubernetes: a JobSet, or a runtime and a TrainJob of Kubeflow Trainer, which makes such a
// JobSet. Each [[host]] of the hosts file is a group of equal pods (a replicated job); each pod runs
// `steelyard member` with the roles of its host, and has at most one worker and one server.
//
// Pods find the scheduler by the name that the headless service of the JobSet gives to its pod. Keys are in a
// secret, which the user makes: no rendered file contains one. The pod of the scheduler has a claim for its
// run directory, where its successor continues.
//
// Exit codes decide what follows: a wrong configuration fails the whole set; a pod that was drained, or asks
// to be started again (75), is replaced without being counted; all other failures are counted.
#pragma once

#include <string>

#include "app/render/rendered_job.h"

namespace steelyard {

struct KubernetesOptions {
  std::string storage = "10Gi";  // of the claim for the run directory
};

std::string jobset_text(const RenderedJob& job, const KubernetesOptions& options);
std::string training_runtime_text(const RenderedJob& job, const KubernetesOptions& options);

}  // namespace steelyard
