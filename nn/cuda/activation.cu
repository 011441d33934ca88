// Activations: bound by memory, so 16 bytes at a time are all there is to gain.
#include "core/check.h"
#include "nn/cuda/elementwise.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

__device__ float clamped(float x, float most) {
  const float positive = x < 0 ? 0 : x;  // NaN stays NaN
  return positive > most ? most : positive;
}
__device__ float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }
__device__ float phi(float x) { return 0.5F * erfcf(-0.707106781F * x); }

// Each kind: its value at x, and `slope` times the derivative from what is kept, which is the output or,
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
// x (1 + tanh u) / 2 is x sigmoid(2u); 1.5957... is 2 sqrt(2 / pi). Beyond 10 the slope is that of the
// limit.
struct GeluTanh {
  static constexpr bool by_input = true;
  __device__ static float argument(float x) { return 1.59576912F * (x + 0.044715F * x * x * x); }
  __device__ static float value(float x) { return x * sigmoid_of(argument(x)); }
  __device__ static float gradient(float x, float slope) {
    const float least = x < -10 ? -10 : x, near = least > 10 ? 10 : least;
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

template <class Kind>
class ActivationOp final : public Op {
 public:
  ActivationOp(const OpPlace& place, const Context& context)
      : features_(place.output.size()), context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    elementwise(context_.stream, features_ * pass.size(), Value<Kind>(), call.output, call.inputs[0]);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const float* const kept = Kind::by_input ? call.inputs[0] : call.output;
    const float* const d_output = call.d_output;
    const std::uint64_t n = features_ * pass.size();
    if (add) {
      const float* const before = to;
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
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t features_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Activation& op, const OpPlace& place, const Context& context) {
  switch (op.kind) {
    case Activation::Kind::relu:
      return std::make_unique<ActivationOp<Relu>>(place, context);
    case Activation::Kind::relu6:
      return std::make_unique<ActivationOp<Relu6>>(place, context);
    case Activation::Kind::gelu:
      return std::make_unique<ActivationOp<Gelu>>(place, context);
    case Activation::Kind::gelu_tanh:
      return std::make_unique<ActivationOp<GeluTanh>>(place, context);
    case Activation::Kind::silu:
      return std::make_unique<ActivationOp<Silu>>(place, context);
    case Activation::Kind::hard_swish:
      return std::make_unique<ActivationOp<HardSwish>>(place, context);
    case Activation::Kind::hard_sigmoid:
      return std::make_unique<ActivationOp<HardSigmoid>>(place, context);
    case Activation::Kind::sigmoid:
      return std::make_unique<ActivationOp<Sigmoid>>(place, context);
    case Activation::Kind::tanh:
      return std::make_unique<ActivationOp<Tanh>>(place, context);
  }
  CHECK(false, "an activation that is none");
}

}  // namespace steelyard::nn::cuda
