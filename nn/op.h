// Op: computes one node of a graph on one micro-batch. A network is a list of ops over planned activations
// (nn/network_plan.h).
//
// Activations are plain buffers, of floats (on a CUDA device also of bfloat16), in one of two orders; each op
// is made for one:
//  samples  [sample][row][column][channel]: as data sets deliver it; `size` samples of the micro-batch
//  lanes    [channel][row][column][sample]: a multiple of 16 samples in the lanes of vectors; lanes from
//           `size` on are padding
// A flat vector in lanes is [feature][sample].
//
// Samples from `batch.count` on are padding, in both orders: finite in activations, zero in gradients. An op
// that mixes samples (batch norm) excludes them from its sums.
//
// An op may keep data from forward() to the following backward(), so it belongs to one network and one
// thread. Gradients are sums over the samples, never means.
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

// How numbers of activations and of their gradients are stored. Parameters, their gradients, statistics and
// sums are float32 in either. On a CPU values in lanes are float32.
enum class Storage : std::uint8_t { float32, bf16 };

constexpr std::uint64_t bytes_of(Storage storage) { return storage == Storage::bf16 ? 2 : 4; }

// Lanes for this many samples.
constexpr std::uint32_t lanes_of(std::uint32_t samples) {
  return samples == 0 ? 16 : (samples + 15) / 16 * 16;
}

constexpr std::uint64_t pixels_of(Shape shape) { return std::uint64_t{shape.height} * shape.width; }

// The context of one call, the same for all ops.
struct Pass {
  const MicroBatch& batch;
  bool training;  // enables dropout and statistics of the batch; backward() follows
  // The parameters may differ from those of the last forward(): copies in another form are out of date.
  bool renewed = true;

  [[nodiscard]] std::uint32_t size() const { return batch.size; }
  [[nodiscard]] std::uint32_t lanes() const { return lanes_of(batch.size); }
  // Samples in a buffer of this order, padding included.
  [[nodiscard]] std::uint32_t places(Order order) const { return order == Order::lanes ? lanes() : size(); }
};

// An op's place in the graph.
struct OpPlace {
  std::vector<Shape> inputs{};  // of one sample
  Shape output{};
  std::uint32_t micro_batch = largest_micro_batch;  // samples at most
  std::uint64_t key = 0;                            // of its random numbers: its position in the graph
  Order order = Order::samples;                     // of inputs and output
  Precision precision = Precision::float32;
  Storage storage = Storage::float32;  // of inputs and output; row numbers (Embedding) are float32 in either
};

// The tail of a norm that is merged with following nodes.
struct FusedTail {
  bool add = false;   // a second input of the same shape, the residual
  bool relu = false;  // after it
};

// Activations and their gradients are addressed as floats in either storage; ops of bf16 cast the addresses
// (nn/cuda/typed_calls.h, nn/cpu/storage.h).
struct Forward {
  std::span<const float* const> inputs;
  std::span<const float* const> parameters;  // in the order of their specs
  float* output;
  float* workspace;  // Traits::workspace floats, not kept between two calls
  // Not null if a norm also computes the addition before it (Step::with_next): the inputs are two terms,
  // and their sum is written here, perhaps to the buffer of the first.
  float* sum = nullptr;
};

// The gradient of one input: null if it is not needed.
struct InputGradient {
  float* to = nullptr;  // may be d_output, if the op works in place or d_in_place
  bool add = false;     // instead of writing; only if Traits::adds
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

// Properties of an op for the planner.
struct Traits {
  bool in_place = false;      // the output may be the first input's buffer, and its gradient the output's
  bool d_in_place = false;    // the gradient of any one input of the output's shape may be d_output's buffer
  bool reads_inputs = true;   // in backward
  bool reads_output = false;  // in backward
  bool adds = false;          // can add to gradients of its inputs
  bool keeps_d_output = false;  // backward only reads d_output, which is never the buffer of another gradient
  bool gives_d_output = false;  // the gradient of each input is d_output, and all may be its buffer
  std::uint64_t workspace = 0;
};

// For ops that move or add numbers in place.
inline constexpr Traits in_place_traits{
    .in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};

class Op {
 public:
  virtual ~Op() = default;

  virtual void forward(const Pass& pass, const Forward& call) = 0;
  virtual void backward(const Pass& pass, const Backward& call) = 0;

  [[nodiscard]] virtual Traits traits() const { return {}; }
  // Bytes that it keeps, permanently or from forward to backward.
  [[nodiscard]] virtual std::uint64_t bytes() const { return 0; }
  // The implementation, for tests and reports: "reference", "direct", "onednn jit:avx512_core".
  [[nodiscard]] virtual std::string implementation() const = 0;
};

}  // namespace steelyard::nn
