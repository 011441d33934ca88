// Checks the models, data sets and policies that a job or a scenario names, and their options, before
// anything runs. The options of policies that are not chosen are checked too, so that mistakes show at once.
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

// ---- the device of a worker

// The workers that one section describes: one, or one for each device of "cuda:0-3", with the device number
// appended to the name.
std::vector<WorkerSpec> each_worker(const WorkerSpec& spec);

// Why a worker with these settings cannot compute on this device, and the remedy. Empty: it can.
std::string device_trouble(const WorkerSpec& spec, const Device& device);
// The same for the processor of this machine, if `device` is that: whether it multiplies bfloat16.
std::string processor_trouble(const WorkerSpec& spec, const Device& device, bool has_bf16);
// device_trouble() for the device in `spec`. Empty for "auto": its device is known only once it is looked up.
std::string device_trouble(const WorkerSpec& spec);

// The error in a section, with the option that causes it; no option if the name is wrong. std::nullopt: none.
std::optional<OptionTrouble> model_trouble(const std::string& name, const OptionTexts& options);
std::optional<OptionTrouble> layer_trouble(const std::string& kind, const OptionTexts& options);
std::optional<OptionTrouble> data_trouble(const std::string& name, const OptionTexts& options);
// `known`: the valid names of policies.
std::optional<OptionTrouble> policy_trouble(const std::string& policy, const OptionTexts& options,
                                            const std::vector<std::string>& known);

}  // namespace steelyard
