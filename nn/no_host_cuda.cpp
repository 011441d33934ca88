#include "nn/cuda_devices.h"

namespace steelyard::nn {

bool built_with_host_cuda() { return false; }

}  // namespace steelyard::nn
