// Resolves the device name given to a worker (core/device_name.h) to a device of this machine.
#pragma once

#include <string>
#include <vector>

#include "core/device_name.h"
#include "nn/cuda_devices.h"

namespace steelyard {

// Devices of this machine other than the processor.
struct DevicesHere {
  bool cuda = false, host_cuda = false;  // supported by this build
  std::vector<nn::CudaDevice> devices{};
};

// `text` is "auto" or the name of a device. Throws Failure (configuration) that lists what is available
// instead.
Device find_device(const std::string& text, const DevicesHere& here);
// find_device() on this machine. Queries CUDA only if `text` can mean a CUDA device.
Device device_here(const std::string& text);

}  // namespace steelyard
