// The models, data sets and policies that a job or a scenario chooses, and their options, before anything
// runs: also those of policies that are not chosen, so that a slip is not found out only when somebody
// chooses them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "balancing/policies.h"
#include "core/device_name.h"
#include "nn/models.h"
#include "worker/compute/workload.h"
#include "worker/data/data_sets.h"

namespace steelyard {

// What of a worker hangs on its device.

// The workers that one section describes: itself, or one for each device of "cuda:0-3", with the device's
// number behind its name.
std::vector<WorkerSpec> each_worker(const WorkerSpec& spec);

// Why a worker that is started this way cannot compute on this device, and what to do. Empty: it can.
std::string device_trouble(const WorkerSpec& spec, const Device& device);
// The same as far as the text tells the device: that of "auto" is known when it is looked for.
std::string device_trouble(const WorkerSpec& spec);

// What is wrong with a section: the option to look at, or none if it is the name.
std::optional<OptionTrouble> model_trouble(const std::string& name,
                                           const std::map<std::string, double>& options);
std::optional<OptionTrouble> data_trouble(const std::string& name, const OptionTexts& options);
// `known`: the policies that the file may name.
std::optional<OptionTrouble> policy_trouble(const std::string& policy, const OptionTexts& options,
                                            const std::vector<std::string>& known);

}  // namespace steelyard
