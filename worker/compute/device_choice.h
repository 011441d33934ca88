// The device that a worker was told to compute on (core/device_name.h), looked for on this machine.
#pragma once

#include <string>
#include <vector>

#include "core/device_name.h"
#include "nn/cuda_devices.h"

namespace steelyard {

// What workers can compute on here, beside the processor.
struct DevicesHere {
  bool cuda = false, host_cuda = false;  // what this build has
  std::vector<nn::CudaDevice> devices{};
};

// `text` is a device, "auto" or one by name. Throws Failure (configuration) that says what there is instead.
Device find_device(const std::string& text, const DevicesHere& here);
// The same on this machine. CUDA is asked only where `text` may mean one of its devices.
Device device_here(const std::string& text);

}  // namespace steelyard
