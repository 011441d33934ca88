// Shared by the ops of one network on a CUDA device.
//
// Work is captured once for each kind of micro-batch (nn/cuda/recordings.h) and run many times. Values that
// change from one micro-batch to the next are therefore stored in device memory and read there by kernels:
// the number of real samples, keys of random numbers, positions, labels and targets. Pass::size(),
// Pass::training and the `add` of a backward are constants of a capture; ops here do not know
// Pass::batch.count.
#pragma once

#include <cstdint>

#include "nn/cuda/products.h"
#include "nn/cuda/runtime.h"
#include "nn/cuda/typed_calls.h"
#include "nn/op_table.h"

namespace steelyard::nn::cuda {

struct BatchNumbers {
  std::uint64_t seed = 0, epoch = 0;
  std::uint32_t count = 0;  // real samples
};

// All pointers are device pointers.
struct Context {
  Stream& stream;
  Products& products;
  const BatchNumbers* numbers;
  const std::uint64_t* positions;  // of each sample
  const std::uint32_t* labels;
  std::uint32_t grain = 0;         // samples that batch norm groups; 0: the whole micro-batch
  const float* targets = nullptr;  // of losses that take them: a row for each sample
  bool own_kernels = false;        // convolutions and attention by no library
};

// Uses our own kernels, unless implementation() says otherwise.
class CudaOp : public Op {
 public:
  explicit CudaOp(const Context& context) : context_(context) {}
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 protected:
  const Context& context_;
};

}  // namespace steelyard::nn::cuda
