#include "nn/cuda_devices.h"

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() { return {}; }
bool built_with_cuda() { return false; }
std::optional<DeviceSpeed> measure_cuda(unsigned) { return std::nullopt; }

}  // namespace steelyard::nn
