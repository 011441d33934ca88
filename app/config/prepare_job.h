// Resolves the names in a job into model, data and layout. Every worker does this, and so does the scheduler,
// so that errors are found before anything starts.
#pragma once

#include <steelyard/model.h>
#include <steelyard/policy.h>

#include <memory>
#include <string>

#include "app/config/job_file.h"
#include "protocol/job.h"
#include "protocol/messages.h"
#include "worker/compute/workload.h"

namespace steelyard {

// Why this job cannot be reproducible, that is give bit-identical parameters for any split of its rounds, any
// workers and any losses (docs/decisions/40-grain-by-grain.md); and the remedy. Empty: it can. `sync` is the
// mode as written in the file.
std::string reproducible_trouble(const JobFile& file, const std::string& sync);
// Whether a worker on this device can host shards with servers = "workers": it is a GPU, given by name.
bool can_host_shards(const std::string& device);
// Why its GPU workers cannot host the shards, and the remedy; empty: they can. `of_hosts`: the workers are
// those of a hosts file or of an allocation.
std::string hosting_trouble(const JobFile& file, bool of_hosts);

// Why this job cannot have the `grain` of its [model], and the remedy. Empty: it can.
std::string grain_trouble(const JobFile& file);

// The model name of jobs with a model that the workers bring (Registry::workload).
inline constexpr char external_model[] = "external";

// Opens the data and builds the model that the job names. Throws Failure (configuration) for an external
// model if this program has none, or for a grain that the model cannot have. `computing` applies to built-in
// engines only.
Workload workload_of(const Job& job, const Computing& computing = {});

// The options of [data], with `targets` (worker/data/targets.h) as the loss in [model] needs it if the file
// does not give it. Throws Failure (configuration) if the two contradict each other.
OptionTexts data_options_of(const Job& job);

// Whether the model is made of layers (nn) and so can be built without the data.
bool is_made_of_layers(const Job& job);
// Builds such a model for samples of this shape and this number of classes. Throws Failure as
// nn::make_model() does.
nn::Model model_of(const Job& job, nn::Shape input, std::uint32_t classes);

// Sets the members that depend on model and data: layout, numbers of samples, labels and grain. Then
// validates the job; throws Failure (configuration).
void complete(Job& job, const ModelDescription& model);
// Layout and sizes of a workload.
ModelDescription described(const Workload& workload);

// The policy of a job. Throws Failure (configuration) as balancing::make_policy() does, or if the job's sync
// mode needs a policy that sets the length of rounds and this one does not.
std::unique_ptr<balancing::Policy> policy_of(const Job& job);

// The fingerprint of the job in a file, for a process that must join only this job; 0 without a file.
std::uint64_t job_fingerprint(const std::string& job_file);

}  // namespace steelyard
