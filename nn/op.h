// Op: what computes one node of a graph on one micro-batch. A network is a list of them over planned
// activations (nn/network_plan.h).
//
// Activations are plain float buffers in one of two orders; each op is made for one:
//  samples  [sample][row][column][channel]: as data sets deliver; `size` samples of the micro-batch
//  lanes    [channel][row][column][sample]: 16 or 32 samples side by side in the lanes of a vector; the lanes
//           from `size` on are padding
// A flat vector in lanes is [feature][sample].
//
// Samples from `batch.count` on are padding, in both orders: finite in activations, zero in gradients. An op
// that mixes samples (batch norm) keeps them out of its sums.
//
// An op may keep what it needs from forward() to the backward() that follows, so it belongs to one network
// and one thread. Gradients are sums over the samples, never means.
#pragma once

#include <steelyard/micro_batch.h>
#include <steelyard/shape.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/device_name.h"

namespace steelyard::nn {

enum class Order : std::uint8_t { samples, lanes };

// Lanes for so many samples.
constexpr std::uint32_t lanes_of(std::uint32_t samples) { return samples > 16 ? 32 : 16; }

constexpr std::uint64_t pixels_of(Shape shape) { return std::uint64_t{shape.height} * shape.width; }

// The circumstances of one call, the same for all ops.
struct Pass {
  const MicroBatch& batch;
  bool training;  // dropout on, statistics of the batch; backward() will follow

  [[nodiscard]] std::uint32_t size() const { return batch.size; }
  [[nodiscard]] std::uint32_t lanes() const { return lanes_of(batch.size); }
  // Samples that a buffer of this order holds, padding included.
  [[nodiscard]] std::uint32_t places(Order order) const { return order == Order::lanes ? lanes() : size(); }
};

// Where an op stands.
struct OpPlace {
  std::vector<Shape> inputs{};  // of one sample each
  Shape output{};
  std::uint32_t micro_batch = largest_micro_batch;  // samples, at the most
  std::uint64_t key = 0;                            // of its random numbers: its place in the graph
  Order order = Order::samples;                     // of inputs and output
  Precision precision = Precision::float32;
};

// What an op of several nodes does behind a norm.
struct FusedTail {
  bool add = false;   // a second input of the same shape, the residual
  bool relu = false;  // after it
};

struct Forward {
  std::span<const float* const> inputs;
  std::span<const float* const> parameters;  // in the order of their specs
  float* output;
  float* workspace;  // Traits::workspace floats that mean nothing between two calls
};

// The gradient of one input: null if it is not needed.
struct InputGradient {
  float* to = nullptr;  // d_output itself where the op works in place, or its gradient may
  bool add = false;     // to what is there, instead of writing; only if the op says that it can
};

struct Backward {
  std::span<const float* const> inputs;  // of forward()
  std::span<const float* const> parameters;
  const float* output;  // of forward()
  float* d_output;      // may be overwritten
  std::span<const InputGradient> d_inputs;
  std::span<float* const> d_parameters;
  bool add;  // to d_parameters, instead of writing
  float* workspace;
};

// What the planner must know of an op.
struct Traits {
  bool in_place = false;      // the output may be the first input's buffer, and its gradient the output's
  bool d_in_place = false;    // the gradient of any one input of the output's shape may be d_output's buffer
  bool reads_inputs = true;   // in backward
  bool reads_output = false;  // in backward
  bool adds = false;          // to gradients of its inputs, if asked
  std::uint64_t workspace = 0;
};

// Of what moves or adds numbers where they lie.
inline constexpr Traits in_place_traits{
    .in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};

class Op {
 public:
  virtual ~Op() = default;

  virtual void forward(const Pass& pass, const Forward& call) = 0;
  virtual void backward(const Pass& pass, const Backward& call) = 0;

  [[nodiscard]] virtual Traits traits() const { return {}; }
  // Bytes that it keeps, for good or from forward to backward.
  [[nodiscard]] virtual std::uint64_t bytes() const { return 0; }
  // What does the work, for tests and reports: "reference", "direct", "onednn jit:avx512_core".
  [[nodiscard]] virtual std::string implementation() const = 0;
};

}  // namespace steelyard::nn
