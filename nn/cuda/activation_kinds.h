// The activations of a CUDA device, number by number: alone (elementwise.cu) and behind the product of a
// linear layer (biased_activation.cu).
#pragma once

#include <steelyard/layers.h>

#include <cmath>

#include "core/check.h"
#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {

__device__ inline float clamped(float x, float max) {
  const float positive = x < 0 ? 0 : x;  // NaN stays NaN
  return positive > max ? max : positive;
}
__device__ inline float sigmoid_of(float x) { return 1 / (1 + expf(-x)); }
__device__ inline float phi(float x) { return 0.5F * erfcf(-0.707106781F * x); }

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

// Calls make(kind, number) with one of these, and with a number of the storage's type.
template <class Make>
auto of_activation(Activation::Kind kind, Storage storage, Make make) {
  const auto of = [&](auto one) {
    return in_storage(storage, [&](auto number) { return make(one, number); });
  };
  switch (kind) {
    case Activation::Kind::relu:
      return of(Relu());
    case Activation::Kind::relu6:
      return of(Relu6());
    case Activation::Kind::gelu:
      return of(Gelu());
    case Activation::Kind::gelu_tanh:
      return of(GeluTanh());
    case Activation::Kind::silu:
      return of(Silu());
    case Activation::Kind::hard_swish:
      return of(HardSwish());
    case Activation::Kind::hard_sigmoid:
      return of(HardSigmoid());
    case Activation::Kind::sigmoid:
      return of(Sigmoid());
    case Activation::Kind::tanh:
      return of(Tanh());
  }
  CHECK(false, "an unknown activation");
}

}  // namespace steelyard::nn::cuda
