// Ops on independent numbers: activations, dropout, a sum, scaled channels. They are bound by memory, so
// access by 16 bytes is the only possible gain.
#include <array>
#include <cmath>

#include "core/check.h"
#include "core/random.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

__device__ float clamped(float x, float max) {
  const float positive = x < 0 ? 0 : x;  // NaN stays NaN
  return positive > max ? max : positive;
}
__device__ float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }
__device__ float phi(float x) { return 0.5F * erfcf(-0.707106781F * x); }

// Each kind: its value at x, and `slope` times the derivative, computed from the kept value: the output or,
// with by_input, the input.
struct Relu {
  static constexpr bool by_input = false;
  __device__ static float value(float x) { return x < 0 ? 0 : x; }
  __device__ static float gradient(float y, float slope) { return y <= 0 ? 0 : slope; }
};
struct Relu6 {
  static constexpr bool by_input = false;
  __device__ static float value(float x) { return clamped(x, 6); }
  __device__ static float gradient(float y, float slope) { return y <= 0 || y >= 6 ? 0 : slope; }
};
struct Gelu {
  static constexpr bool by_input = true;
  __device__ static float value(float x) { return x * phi(x); }
  __device__ static float gradient(float x, float slope) {
    const float density = 0.398942280F * expf(-0.5F * x * x);
    return slope * (phi(x) + (density == 0 ? 0 : x * density));
  }
};
// x (1 + tanh u) / 2 is x sigmoid(2u); 1.5957... is 2 sqrt(2 / pi). Beyond 10 the slope is the limit's.
struct GeluTanh {
  static constexpr bool by_input = true;
  __device__ static float argument(float x) { return 1.59576912F * (x + 0.044715F * x * x * x); }
  __device__ static float value(float x) { return x * sigmoid_of(argument(x)); }
  __device__ static float gradient(float x, float slope) {
    const float raised = x < -10 ? -10 : x, near = raised > 10 ? 10 : raised;
    const float e = expf(-argument(near)), s = 1 / (1 + e);
    return slope * (s + near * s * (e * s) * (1.59576912F * (1 + 0.134145F * near * near)));
  }
};
struct Silu {
  static constexpr bool by_input = true;
  __device__ static float value(float x) { return x * sigmoid_of(x); }
  __device__ static float gradient(float x, float slope) {
    const float s = sigmoid_of(x);
    return slope * (s + x * s * sigmoid_of(-x));
  }
};
struct HardSwish {
  static constexpr bool by_input = true;
  __device__ static float value(float x) { return x * clamped(x + 3, 6) * (1.0F / 6); }
  __device__ static float gradient(float x, float slope) {
    return slope * (x <= -3 ? 0 : (x >= 3 ? 1 : x * (1.0F / 3) + 0.5F));
  }
};
struct HardSigmoid {
  static constexpr bool by_input = false;
  __device__ static float value(float x) { return clamped(x + 3, 6) * (1.0F / 6); }
  __device__ static float gradient(float y, float slope) { return y <= 0 || y >= 1 ? 0 : slope * (1.0F / 6); }
};
struct Sigmoid {
  static constexpr bool by_input = false;
  __device__ static float value(float x) { return sigmoid_of(x); }
  __device__ static float gradient(float y, float slope) { return slope * (y * (1 - y)); }
};
struct Tanh {
  static constexpr bool by_input = false;
  __device__ static float value(float x) { return tanhf(x); }
  __device__ static float gradient(float y, float slope) { return slope * ((1 - y) * (1 + y)); }
};

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

template <class Kind>
std::unique_ptr<Op> make_kind(const OpPlace& place, const Context& context) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<ActivationOp<Kind, decltype(number)>>(place, context);
  });
}

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

  [[nodiscard]] Traits traits() const override { return in_place_traits; }

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
  // In the order of Activation::Kind.
  static constexpr std::array makers{make_kind<Relu>,        make_kind<Relu6>,   make_kind<Gelu>,
                                     make_kind<GeluTanh>,    make_kind<Silu>,    make_kind<HardSwish>,
                                     make_kind<HardSigmoid>, make_kind<Sigmoid>, make_kind<Tanh>};
  const auto kind = static_cast<std::size_t>(op.kind);
  CHECK(kind < makers.size(), "an unknown activation");
  return makers[kind](place, context);
}

STEELYARD_STORED_OP(Dropout, DropoutOp)
STEELYARD_STORED_OP(Add, AddOp)
STEELYARD_STORED_OP(Scale, ScaleOp)

}  // namespace steelyard::nn::cuda
