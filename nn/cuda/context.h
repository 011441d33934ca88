// What the ops of one network on a CUDA device share.
//
// Work is captured once for each size of micro-batch and run many times (Stream::begin_capture), so whatever
// changes from one micro-batch to the next lies in memory of the device, and kernels read it there: how many
// samples are real, the keys of random numbers, positions and labels. Pass::size(), Pass::training and the
// `add` of a backward are constants of a capture; Pass::batch.count is not known to ops here.
#pragma once

#include <cstdint>

#include "nn/cuda/products.h"
#include "nn/cuda/runtime.h"
#include "nn/op_table.h"

namespace steelyard::nn::cuda {

struct BatchNumbers {
  std::uint64_t seed = 0, epoch = 0;
  std::uint32_t count = 0;  // real samples
};

// All pointers are of the device.
struct Context {
  Stream& stream;
  Products& products;
  const BatchNumbers* numbers;
  const std::uint64_t* positions;  // of each sample
  const std::uint32_t* labels;
  std::uint32_t grain = 0;  // samples that batch norm takes together; 0: the whole micro-batch
};

// By kernels of our own, unless it says otherwise.
class CudaOp : public Op {
 public:
  explicit CudaOp(const Context& context) : context_(context) {}
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 protected:
  const Context& context_;
};

}  // namespace steelyard::nn::cuda
