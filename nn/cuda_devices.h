// The CUDA devices of this machine. A build without CUDA has none: absence is a backend (no_cuda.cpp), and no
// caller ever asks the preprocessor.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "nn/device_speed.h"
#include "nn/nvml.h"

namespace steelyard::nn {

struct CudaDevice {
  std::string name;
  std::uint64_t memory_bytes = 0;
  unsigned major = 0, minor = 0;    // its compute capability
  std::optional<GpuState> state{};  // what NVML tells of it now, where there is one
};

// In the order of CUDA: the first is cuda:0.
std::vector<CudaDevice> cuda_devices();
bool built_with_cuda();
// Whether the host executor is there, which runs the same kernels on this processor: in builds with tests.
bool built_with_host_cuda();

// How fast device number `device` is, measured in about a second; nothing where that cannot be measured.
std::optional<DeviceSpeed> measure_cuda(unsigned device);

}  // namespace steelyard::nn
