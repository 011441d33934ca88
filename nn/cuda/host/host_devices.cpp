#include "nn/cuda_devices.h"

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() { return {}; }
bool built_with_cuda() { return false; }
bool built_with_host_cuda() { return true; }

}  // namespace steelyard::nn
