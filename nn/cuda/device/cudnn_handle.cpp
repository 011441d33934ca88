#include "nn/cuda/device/cudnn_handle.h"

#include <map>
#include <string>

#include "nn/cuda/device/native.h"

namespace steelyard::nn::cuda {

// Missing parts of cuDNN, and drivers that do not fit, are no property of an op.
Trouble trouble_of(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS:
      return Trouble::none;
    case CUDNN_STATUS_INTERNAL_ERROR_HOST_ALLOCATION_FAILED:
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED:
      return Trouble::memory;
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDA_DRIVER:
    case CUDNN_STATUS_NOT_SUPPORTED_INCOMPATIBLE_CUDART:
    case CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING:
    case CUDNN_STATUS_NOT_SUPPORTED_SUBLIBRARY_UNAVAILABLE:
      return Trouble::other;
    default:
      break;
  }
  const bool unsupported = CUDNN_STATUS_CATEGORY(static_cast<int>(status)) == CUDNN_STATUS_NOT_SUPPORTED;
  return unsupported ? Trouble::unsupported : Trouble::other;
}

void check_cudnn(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  raise(trouble_of(status), std::string("cuDNN cannot ") + what + ": " + cudnnGetErrorString(status));
}

std::shared_ptr<Handle> Handle::mine() {
  static thread_local std::map<int, std::weak_ptr<Handle>> kept;
  int device = 0;
  cuda::check(cudaGetDevice(&device), "be asked for its number");
  std::shared_ptr<Handle> handle = kept[device].lock();
  if (!handle) kept[device] = handle = std::make_shared<Handle>();
  return handle;
}

Handle::Handle() { check_cudnn(cudnnCreate(&handle_), "start: is the whole of cuDNN 9 installed?"); }
Handle::~Handle() { cudnnDestroy(handle_); }

cudnnHandle_t Handle::on(const Stream& stream) const {
  check_cudnn(cudnnSetStream(handle_, native(stream)), "take a stream");
  return handle_;
}

}  // namespace steelyard::nn::cuda
