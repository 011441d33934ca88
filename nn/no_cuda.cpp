#include "nn/cuda_devices.h"

namespace steelyard::nn {

std::vector<CudaDevice> cuda_devices() { return {}; }
bool built_with_cuda() { return false; }

}  // namespace steelyard::nn
