#include <cublasLt.h>
#include <cudnn.h>

#include "bench/gpu/native_facts.h"
#include "nn/cuda/device/native.h"

namespace steelyard::bench {
namespace {

std::string version(int of) { return std::to_string(of / 1000) + "." + std::to_string(of % 1000 / 10); }

std::string both(std::size_t compiled, std::size_t loaded) {
  return "compiled with " + std::to_string(compiled) + ", loaded " + std::to_string(loaded);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> native_facts() {
  using nn::cuda::check;
  int driver = 0, runtime = 0, device = 0;
  cudaDeviceProp of{};
  check(cudaDriverGetVersion(&driver), "tell the version of its driver");
  check(cudaRuntimeGetVersion(&runtime), "tell its version");
  check(cudaGetDevice(&device), "be chosen");
  check(cudaGetDeviceProperties(&of, device), "be described");
  return {{"device", std::string(of.name) + ", compute capability " + std::to_string(of.major) + "." +
                         std::to_string(of.minor)},
          {"multiprocessors", std::to_string(of.multiProcessorCount) + ", " +
                                  std::to_string(of.l2CacheSize >> 20) + " MB of cache"},
          {"memory", std::to_string(of.totalGlobalMem >> 20) + " MB, " +
                         std::to_string(nn::cuda::free_bytes() >> 20) + " MB free"},
          {"CUDA", "driver for " + version(driver) + ", runtime " + version(runtime)},
          {"cuBLASLt", both(CUBLAS_VERSION, cublasLtGetVersion())},
          {"cuDNN", both(CUDNN_VERSION, cudnnGetVersion())}};
}

}  // namespace steelyard::bench
