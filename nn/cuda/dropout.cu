// The mask of nn/cpu/kernel_calls.h, drawn on the way in forward and in backward. On a GPU the draws, two
// mixes of 64 bits for four numbers, cost about as much as the memory that is moved: so a thread makes the
// key of its sample once and takes several fours.
#include <cmath>

#include "core/random.h"
#include "nn/cuda/in_samples.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned four = 4, fours_each = 4;

struct Draw {
  std::uint64_t key;      // of the op
  std::uint32_t dropped;  // of 65536
  float scale;            // of what is left
};

__global__ void drop(Draw draw, const BatchNumbers* numbers, const std::uint64_t* positions,
                     std::uint32_t features, bool packed, const float* from, bool add, float* to) {
  const std::uint64_t key = hash(numbers->seed, numbers->epoch, positions[blockIdx.y], draw.key);
  const std::uint64_t sample = std::uint64_t{blockIdx.y} * features;
  const unsigned step = gridDim.x * blockDim.x;
  for (unsigned f = four * thread_in_sample(); f < features; f += four * step) {
    const std::uint64_t bits = hash(key, f);
    const auto passed = [&](unsigned k, float value) {
      return (bits >> (16 * k) & 0xFFFF) < draw.dropped ? 0 : value * draw.scale;
    };
    if (packed) {
      const Pack<four> values = load<four>(from + sample + f);
      Pack<four> results = add ? load<four>(to + sample + f) : Pack<four>{};
      for (unsigned k = 0; k < four; ++k) results.x[k] += passed(k, values.x[k]);
      store<four>(to + sample + f, results);
    } else {
      for (unsigned k = 0; k < four && f + k < features; ++k) {
        const float value = passed(k, from[sample + f + k]);
        to[sample + f + k] = add ? to[sample + f + k] + value : value;
      }
    }
  }
}

class DropoutOp final : public Op {
 public:
  DropoutOp(const Dropout& op, const OpPlace& place, const Context& context)
      : features_(static_cast<std::uint32_t>(place.output.size())),
        draw_{place.key, static_cast<std::uint32_t>(std::lround(op.probability * 65536)),
              static_cast<float>(1 / (1 - op.probability))},
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    if (pass.training) return sweep(pass, call.inputs[0], false, call.output);
    if (call.output != call.inputs[0])
      context_.stream.copy_array(call.output, call.inputs[0], std::uint64_t{features_} * pass.size());
  }
  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to != nullptr) sweep(pass, call.d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  void sweep(const Pass& pass, const float* from, bool add, float* to) const {
    launch_in_samples(context_.stream, pass.size(), groups_of(features_, four * fours_each), &drop, draw_,
                      context_.numbers, context_.positions, features_, can_pack(features_, from, to), from,
                      add, to);
  }

  std::uint32_t features_;
  Draw draw_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Dropout& op, const OpPlace& place, const Context& context) {
  return std::make_unique<DropoutOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
