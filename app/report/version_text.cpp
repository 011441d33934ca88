#include "app/report/version_text.h"

#include "core/level.h"
#include "nn/cuda_devices.h"
#include "protocol/codec.h"

namespace steelyard {

std::string version_text() {
  std::string text = "steelyard " STEELYARD_VERSION ", protocol " + std::to_string(protocol_version) +
                     ", kernels for " + name(cpu_level()) +
                     (nn::built_with_cuda() ? ", CUDA devices:" : ", built without CUDA");
  if (nn::built_with_cuda() && nn::cuda_devices().empty()) text += " none";
  for (const nn::CudaDevice& device : nn::cuda_devices()) text += " " + device.name;
  return text + "\n";
}

const char* release() { return STEELYARD_VERSION; }

}  // namespace steelyard
