// Op: one layer on one micro-batch. A network is a list of them over planned activations (nn/plan.h).
//
// Activations are plain float buffers in one of two orders; each op is made for one:
//  samples  [sample][row][column][channel]: as data sets deliver; `size` samples of the micro-batch
//  lanes    [channel][row][column][sample]: 16 or 32 samples side by side in the lanes of a vector; the lanes
//           from `size` on are padding: finite in activations, zero in gradients
// A flat vector in lanes is [feature][sample].
//
// An op may keep what it needs from forward() to the backward() that follows, so it belongs to one network
// and one thread. Gradients are sums over the samples, never means.
#pragma once

#include <cstdint>
#include <string>

#include "nn/micro_batch.h"
#include "nn/shape.h"

namespace steelyard::nn {

enum class Order : std::uint8_t { samples, lanes };

// The circumstances of one call, the same for all ops.
struct Pass {
  const MicroBatch& batch;
  bool training;  // dropout on; backward() will follow

  [[nodiscard]] std::uint32_t size() const { return batch.size; }
  [[nodiscard]] std::uint32_t lanes() const { return batch.size > 16 ? 32 : 16; }
  // Samples that a buffer of this order holds, padding included.
  [[nodiscard]] std::uint32_t places(Order order) const { return order == Order::lanes ? lanes() : size(); }
};

struct Gradients {
  const float* input;   // of forward()
  const float* output;  // of forward()
  float* d_output;      // may be overwritten
  float* d_input;       // written; null if it is not needed; d_output itself where the op works in place
  float* d_parameters;  // weights, then biases
  bool add;             // to d_parameters, instead of writing
};

class Op {
 public:
  virtual ~Op() = default;

  // `parameters` are the op's own: weights, then biases.
  virtual void forward(const Pass& pass, const float* parameters, const float* input, float* output) = 0;
  virtual void backward(const Pass& pass, const float* parameters, const Gradients& gradients) = 0;

  // Whether output may be the input's buffer (and d_input is then d_output's).
  [[nodiscard]] virtual bool in_place() const { return false; }
  // What does the work, for tests and reports: "reference", "direct", "onednn jit:avx512_core".
  [[nodiscard]] virtual std::string implementation() const = 0;
};

}  // namespace steelyard::nn
