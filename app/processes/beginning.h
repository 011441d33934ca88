// What a run begins with: fresh parameters, or a checkpoint, in a term that no other run has.
//
// In the middle of an epoch the rest of it is what the seed and the samples make it: under another seed, or
// with other samples, some would be used twice and others never. So that is refused there. At the start of an
// epoch both may change; so may all else, at any time: batch, learning rate, sync mode, numbers of servers
// and workers, policy, and how long to train.
#pragma once

#include <string>
#include <vector>

#include "server/checkpoint/checkpoint.h"
#include "server/checkpoint/manifest.h"
#include "protocol/job.h"
#include "worker/data/data_set.h"
#include "worker/compute/workload.h"

namespace steelyard {

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

// `job` is complete (app/config/prepare_job.h). The snapshots have its layout, seed, fingerprint and the source.
Snapshot fresh_beginning(const Job& job, const SampleSource& source, std::vector<float> weights);
// The weights of a training that begins.
std::vector<float> first_weights(const Workload& workload, std::uint64_t seed);
// Throws Failure (io) for a damaged checkpoint, and as check_resumable does.
Snapshot resumed_beginning(const std::string& path, const Job& job, const SampleSource& source);

}  // namespace steelyard
