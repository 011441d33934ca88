#include <cuda_runtime_api.h>

#include "nn/cuda_devices.h"

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) return {};  // no driver, or no device: none
  std::vector<CudaDevice> devices;
  for (int device = 0; device < count; ++device) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) continue;
    devices.push_back({properties.name, properties.totalGlobalMem});
  }
  return devices;
}

bool built_with_cuda() { return true; }

}  // namespace steelyard::nn
