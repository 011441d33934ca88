// Ops on independent numbers: activations, dropout, a sum, scaled channels. They are bound by memory, so
// access by 16 bytes is the only possible gain.
#include <cmath>

#include "core/random.h"
#include "nn/cuda/activation_kinds.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

template <class Kind>
struct Value {
  __device__ float operator()(std::uint64_t, float x) const { return Kind::value(x); }
};
template <class Kind>
struct Gradient {
  __device__ float operator()(std::uint64_t, float kept, float slope) const {
    return Kind::gradient(kept, slope);
  }
};
template <class Kind>
struct AddedGradient {
  __device__ float operator()(std::uint64_t, float kept, float slope, float before) const {
    return before + Kind::gradient(kept, slope);
  }
};

template <class Kind, class T>
class ActivationOp final : public CudaOp {
 public:
  ActivationOp(const OpPlace& place, const Context& context)
      : CudaOp(context), features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    elementwise(context_.stream, features_ * pass.size(), Value<Kind>(), call.output, call.inputs[0]);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const T* const kept = Kind::by_input ? call.inputs[0] : call.output;
    const T* const d_output = call.d_output;
    const std::uint64_t n = features_ * pass.size();
    if (add) {
      const T* const before = to;
      elementwise(context_.stream, n, AddedGradient<Kind>(), to, kept, d_output, before);
    } else {
      elementwise(context_.stream, n, Gradient<Kind>(), to, kept, d_output);
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = !Kind::by_input,
            .d_in_place = true,
            .reads_inputs = Kind::by_input,
            .reads_output = !Kind::by_input,
            .adds = true};
  }

 private:
  std::uint64_t features_;
};

// Dropout: the mask of nn/cpu/kernel_calls.h, drawn again in forward and in backward. On a GPU the draws, two
// 64-bit mixes per four numbers, cost about as much as the memory traffic; a thread therefore computes the
// key of its sample once for several fours.

constexpr unsigned four = 4, fours_each = 4;

struct Draw {
  std::uint64_t key;      // of the op
  std::uint32_t dropped;  // of 65536
  float scale;            // of the features kept
};

template <class T>
__global__ void drop(Draw draw, const BatchNumbers* numbers, const std::uint64_t* positions,
                     std::uint32_t features, bool packed, const T* from, bool add, T* to) {
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

template <class T>
class DropoutOp final : public CudaOp {
 public:
  DropoutOp(const Dropout& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        features_(static_cast<std::uint32_t>(place.output.size())),
        draw_{place.key, static_cast<std::uint32_t>(std::lround(op.probability * 65536)),
              static_cast<float>(1 / (1 - op.probability))} {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    if (pass.training) return sweep(pass, call.inputs[0], false, call.output);
    give(context_.stream, std::uint64_t{features_} * pass.size(), call.inputs[0], false, call.output);
  }
  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to != nullptr) sweep(pass, call.d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override { return in_place_traits; }

 private:
  void sweep(const Pass& pass, const T* from, bool add, T* to) const {
    launch_in_samples(context_.stream, pass.size(), groups_of(features_, four * fours_each), &drop<T>, draw_,
                      context_.numbers, context_.positions, features_,
                      are_packs_of<four>(features_, from, to), from, add, to);
  }

  std::uint32_t features_;
  Draw draw_;
};

// A sum, and copies of its gradient.

template <class T>
class AddOp final : public CudaOp {
 public:
  AddOp(const Add& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context), features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    elementwise(context_.stream, features_ * pass.size(), Sum(), call.output, call.inputs[0], call.inputs[1]);
  }

  // Both gradients are d_output. A gradient in d_output's buffer is already complete; it is doubled if a
  // value is added to itself.
  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    for (std::size_t i = 0; i < call.d_inputs.size(); ++i) {
      const auto [to, add] = call.d_inputs[i];
      if (to != nullptr) give(context_.stream, features_ * pass.size(), call.d_output, add, to);
    }
  }

  [[nodiscard]] Traits traits() const override {
    Traits traits = in_place_traits;
    traits.gives_d_output = true;
    return traits;
  }

 private:
  std::uint64_t features_;
};

// Scaled channels: one sweep forward, one backward for each gradient.

struct Times {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct AddedTimes {
  __device__ float operator()(float factor, float d, float before) const { return before + factor * d; }
};

template <class T>
class ScaleOp final : public CudaOp {
 public:
  ScaleOp(const Scale& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context), places_(pixels_of(place.output)), channels_(place.output.channels) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    by_channel(context_.stream, {pass.size(), places_, channels_}, Times(), call.inputs[1], call.output,
               call.inputs[0]);
  }

  // The factors first: the other gradient may overwrite d_output.
  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const GradientOf<T> d_a = call.d_inputs[0], d_factors = call.d_inputs[1];
    const Places places{pass.size(), places_, channels_};
    if (d_factors.to != nullptr) {
      channel_sums(context_.stream, places, Times(), 1, d_factors.add, d_factors.to, call.d_output,
                   call.inputs[0]);
    }
    if (d_a.to == nullptr) return;
    if (d_a.add) {
      by_channel(context_.stream, places, AddedTimes(), call.inputs[1], d_a.to, call.d_output, d_a.to);
    } else {
      by_channel(context_.stream, places, Times(), call.inputs[1], d_a.to, call.d_output);
    }
  }

  // If a vector is scaled, the gradient of the factors has the output's shape too, and would overwrite it.
  [[nodiscard]] Traits traits() const override { return {.d_in_place = places_ > 1, .adds = true}; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_;
};

}  // namespace

std::unique_ptr<Op> make(const Activation& op, const OpPlace& place, const Context& context) {
  return of_activation(op.kind, place.storage, [&](auto kind, auto number) -> std::unique_ptr<Op> {
    return std::make_unique<ActivationOp<decltype(kind), decltype(number)>>(place, context);
  });
}

STEELYARD_STORED_OP(Dropout, DropoutOp)
STEELYARD_STORED_OP(Add, AddOp)
STEELYARD_STORED_OP(Scale, ScaleOp)

}  // namespace steelyard::nn::cuda
