// The CUDA devices of this machine. A build without CUDA reports none (nn/cuda/none/none.cpp), so callers
// need no preprocessor conditions.
#pragma once

#include <cstdint>
#include <memory>
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
  std::optional<GpuState> state{};  // current state from NVML, if available
};

// In CUDA's order: the first is cuda:0.
std::vector<CudaDevice> cuda_devices();
bool built_with_cuda();
// Whether this build includes the host executor, which runs the same kernels on the processor: builds with
// tests do.
bool built_with_host_cuda();

// Reads device number `device` repeatedly through NVML; null if it cannot be read.
std::unique_ptr<GpuMonitor> monitor_of(unsigned device);

// The speed of device number `device`, measured in about a second; std::nullopt if it cannot be measured.
std::optional<DeviceSpeed> measure_cuda(unsigned device);

}  // namespace steelyard::nn
