// The initial state of a run: fresh parameters or a checkpoint, in a term that no other run has.
//
// In the middle of an epoch, seed and samples determine the remaining samples. With another seed or other
// samples, some would be used twice and others never, so that is refused. At the start of an epoch both may
// change. Everything else may change at any time: batch, learning rate, sync mode, numbers of servers and
// workers, policy, and duration.
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

// Hosts the checkpointer until a stop is requested. No error in it ends the process: `say` gets one line for
// each different error, and the checkpointer continues a second later, while training continues. Checkpointer
// and link belong to this thread until it returns.
void keep(const std::stop_token& told, Checkpointer& checkpointer, NodeId node, Link& link,
          const std::function<void(const std::string&)>& say);

// An external model: the workers bring the layout, first weights and data of the job.

// Key in the data options of an external job: ModelDescription::data_hash of the worker that described it.
inline constexpr char data_mark[] = "mark";

struct WorkersModel {
  ModelDescription description;
  std::vector<float> weights;
};

// The scheduler's side: acts as the scheduler on this link until a worker has sent the whole model. `say`
// gets notes. Returns std::nullopt if the job must end before that, or a process of it exited for good.
// Blocks.
std::optional<WorkersModel> model_of_workers(Link& link, std::uint64_t seed,
                                             const std::function<void(const std::string&)>& say);

// The worker's side: answers from this workload. Reads up to 64 samples.
Worker::Options::Model model_to_tell(const Workload& workload);

// Description of the model and hash of its data. Reads up to 64 samples.
ModelDescription describe(const Workload& workload);
SampleSource sample_source(const Job& job, const ModelDescription& model);

// Throws Failure (usage) unless `path`, from --resume-from, is a directory with a manifest; the message names
// a checkpoint near it, if any.
void require_checkpoint(const std::string& path);

// Throws Failure (configuration) if the job cannot continue from the checkpoint. Otherwise returns notes on
// what changes, one line each.
std::vector<std::string> check_resumable(const std::string& path, const Manifest& checkpoint, const Job& job,
                                         const SampleSource& source);

// `job` is complete (app/config/prepare_job.h). The snapshots have its layout, seed, fingerprint and the
// source.
Snapshot fresh_beginning(const Job& job, const SampleSource& source, std::vector<float> weights);
// The weights of a new training.
std::vector<float> first_weights(const Workload& workload, std::uint64_t seed);
// Throws Failure (io) for a damaged checkpoint, and as check_resumable does.
Snapshot resumed_beginning(const std::string& path, const Job& job, const SampleSource& source);

}  // namespace steelyard
