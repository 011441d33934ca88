// Shared by the ops that cuDNN computes: its handle, and its errors as ours.
#pragma once

#include <cudnn.h>

#include <memory>

#include "nn/cuda/algorithm_choice.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

Trouble trouble_of(cudnnStatus_t status);

// Throws as raise() does.
void check_cudnn(cudnnStatus_t status, const char* what);

// One per thread and device, for all its ops.
class Handle {
 public:
  static std::shared_ptr<Handle> mine();
  Handle();
  ~Handle();
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator cudnnHandle_t() const { return handle_; }  // NOLINT: a thin wrapper

  // Calls add their work to the stream from now on.
  [[nodiscard]] cudnnHandle_t on(const Stream& stream) const;

 private:
  cudnnHandle_t handle_ = nullptr;
};

}  // namespace steelyard::nn::cuda
