// From the names in a job to what they stand for: model, data, layout. All that compute do this, and
// the scheduler, so that a mistake is found before anything is started.
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

// Whether a job can be reproducible: the same bits of the parameters for any split of its rounds, any workers
// and any losses (docs/decisions/40-grain-by-grain.md).

// Why this job cannot be, where, and what to do. Empty: it can. `sync`: its mode as it was written.
std::string reproducible_trouble(const JobFile& file, const std::string& sync);

// The model of a job that comes with its workers (Registry::workload).
inline constexpr char external_model[] = "external";

// Opens the data and builds the model that the job names. Throws Failure (configuration) for an external one
// if this program brings none. `computing` is for an engine of ours; those of users have their own ways.
Workload workload_of(const Job& job, const Computing& computing = {});

// Whether the model is one of nn, which can be made without the data.
bool is_made_of_layers(const Job& job);
// Such a model, for samples of this shape and labels of so many classes. Throws Failure as nn::make_model()
// does.
nn::Model model_of(const Job& job, nn::Shape input, std::uint32_t classes);

// Fills in what follows from model and data: the layout, the numbers of samples, labels and grain. Checks
// what can be checked.
void complete(Job& job, const ModelDescription& model);
// Of layout and sizes only.
ModelDescription described(const Workload& workload);

// The policy of a job. Throws Failure (configuration) as balancing::make_policy() does, or if it does not say
// how long rounds are and the job's sync mode leaves that to it.
std::unique_ptr<balancing::Policy> policy_of(const Job& job);

// The fingerprint of the job in a file, for a process that wants no other; 0 without a file.
std::uint64_t job_fingerprint(const std::string& job_file);

}  // namespace steelyard
