// What a run begins with: fresh parameters, or a checkpoint, in a term that no other run has.
//
// In the middle of an epoch the rest of it is what the seed and the samples make it: under another seed, or
// with other samples, some would be used twice and others never. So that is refused there. At the start of an
// epoch both may change; so may all else, at any time: batch, learning rate, sync mode, numbers of servers
// and workers, policy, and how long to train.
#pragma once

#include <steelyard/data_set.h>

#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "protocol/job.h"
#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/checkpointer.h"
#include "server/checkpoint/manifest.h"
#include "transport/link.h"
#include "worker/compute/workload.h"
#include "worker/worker.h"

namespace steelyard {

// The thread of a scheduler's process that loads and saves the model.

// Hosts the checkpointer until it is told to stop. Nothing that goes wrong in it ends the process: `say` gets
// one line for each different trouble, and a second later the checkpointer goes on; the training does so
// meanwhile. Checkpointer and link are this thread's until it returns.
void keep(const std::stop_token& told, Checkpointer& checkpointer, NodeId node, Link& link,
          const std::function<void(const std::string&)>& say);

// An external model: layout, first weights and data of a job that come with its workers.

// In the data options of an external job: ModelDescription::data_hash of the worker that told it.
inline constexpr char data_mark[] = "mark";

struct WorkersModel {
  ModelDescription description;
  std::vector<float> weights;
};

// The scheduler's side: stands in for it on this link until a worker has told all, and says what happens.
// Nothing if the job is to end before that, or a process of it is gone for good. Blocks.
std::optional<WorkersModel> model_of_workers(Link& link, std::uint64_t seed,
                                             const std::function<void(const std::string&)>& say);

// The worker's side: answers from this workload. Reads a few samples.
Worker::Options::Model model_to_tell(const Workload& workload);

// What is trained, with the marks of its data. Reads a few samples.
ModelDescription describe(const Workload& workload);
SampleSource sample_source(const Job& job, const ModelDescription& model);

// Throws Failure (usage) unless `path`, which --resume-from gave, is a checkpoint, as far as its manifest
// tells; names one if there are some near it.
void require_checkpoint(const std::string& path);

// Throws Failure (configuration) where the job cannot go on from a checkpoint. Gives what is worth knowing
// where it can, one line each.
std::vector<std::string> check_resumable(const std::string& path, const Manifest& checkpoint, const Job& job,
                                         const SampleSource& source);

// `job` is complete (app/config/prepare_job.h). The snapshots have its layout, seed, fingerprint and the
// source.
Snapshot fresh_beginning(const Job& job, const SampleSource& source, std::vector<float> weights);
// The weights of a training that begins.
std::vector<float> first_weights(const Workload& workload, std::uint64_t seed);
// Throws Failure (io) for a damaged checkpoint, and as check_resumable does.
Snapshot resumed_beginning(const std::string& path, const Job& job, const SampleSource& source);

}  // namespace steelyard
