#include <cuda_runtime.h>

#include <array>

#include "nn/cuda_devices.h"

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};  // no driver, or no device: none
  std::vector<CudaDevice> devices;
  std::vector<std::string> buses;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    std::array<char, 32> bus{};
    // The number of a device is its place in the list, so none is left out.
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess ||
        cudaDeviceGetPCIBusId(bus.data(), bus.size(), device) != cudaSuccess) {
      devices.push_back({"unknown", 0});
      buses.emplace_back();
      continue;
    }
    devices.push_back({properties.name, properties.totalGlobalMem, static_cast<unsigned>(properties.major),
                       static_cast<unsigned>(properties.minor)});
    buses.emplace_back(bus.data());
  }
  if (const auto nvml = load_nvml()) {
    const auto states = gpu_states(*nvml, buses);
    for (std::size_t i = 0; i < devices.size(); ++i) devices[i].state = states[i];
  }
  return devices;
}

bool built_with_cuda() { return true; }
bool built_with_host_cuda() { return false; }

}  // namespace steelyard::nn
