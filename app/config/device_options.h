// What of a worker hangs on its device.
#pragma once

#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "core/device_name.h"

namespace steelyard {

// The workers that one section describes: itself, or one for each device of "cuda:0-3", with the device's
// number behind its name.
std::vector<WorkerSpec> each_worker(const WorkerSpec& spec);

// Why a worker that is started this way cannot compute on this device, and what to do. Empty: it can.
std::string device_trouble(const WorkerSpec& spec, const Device& device);
// The same as far as the text tells the device: that of "auto" is known when it is looked for.
std::string device_trouble(const WorkerSpec& spec);

}  // namespace steelyard
