// The CUDA devices of this machine. A build without CUDA has none: absence is a backend (no_cuda.cpp), and no
// caller ever asks the preprocessor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard::nn {

struct CudaDevice {
  std::string name;
  std::uint64_t memory_bytes = 0;
};

std::vector<CudaDevice> cuda_devices();
bool built_with_cuda();

}  // namespace steelyard::nn
