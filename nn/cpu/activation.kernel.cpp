// Activations as plain loops: the compiler makes vectors of them. The cheap ones are bound by memory. Choices
// are between values that are both computed, so that there are no branches; comparisons are such that NaN
// stays NaN.
#include <cstddef>

#include "nn/cpu/kernels.h"
#include "nn/cpu/vector_math.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

[[gnu::always_inline]] inline float clamped(float x, float most) {
  const float positive = x < 0.0F ? 0.0F : x;
  return positive > most ? most : positive;
}

// Each kind: its value at x, and `slope` times the derivative, from what is kept.
struct Relu {
  static float value(float x) { return x < 0.0F ? 0.0F : x; }
  static float gradient(float y, float slope) { return y <= 0.0F ? 0.0F : slope; }
};
struct Relu6 {
  static float value(float x) { return clamped(x, 6.0F); }
  static float gradient(float y, float slope) { return (y <= 0.0F) | (y >= 6.0F) ? 0.0F : slope; }
};
struct Gelu {
  static float value(float x) { return x * normal_of(x).below; }
  static float gradient(float x, float slope) {
    const Normal normal = normal_of(x);
    const float at = x * 0.398942280F;  // times the density, which is 0 at infinity
    const float moved = normal.density == 0.0F ? 0.0F : at * normal.density;
    return slope * (normal.below + moved);
  }
};
// x (1 + tanh u) / 2 is x sigmoid(2u); 1.5957... is 2 sqrt(2 / pi). Beyond 10 the slope is that of the limit.
struct GeluTanh {
  static float argument(float x) { return 1.59576912F * (x + 0.044715F * x * x * x); }
  static float value(float x) { return x * sigmoid_of(argument(x)); }
  static float gradient(float x, float slope) {
    const float least = x < -10.0F ? -10.0F : x, near = least > 10.0F ? 10.0F : least;
    const float e = exp_of(-argument(near)), s = 1.0F / (1.0F + e);
    return slope * (s + near * s * (e * s) * (1.59576912F * (1.0F + 0.134145F * near * near)));
  }
};
struct Silu {
  static float value(float x) { return x * sigmoid_of(x); }
  static float gradient(float x, float slope) {
    const float e = exp_of(-x), s = 1.0F / (1.0F + e);
    return slope * (s + x * s * (e * s));  // e s = 1 - s, without its rounding
  }
};
struct HardSwish {
  static float value(float x) { return x * clamped(x + 3.0F, 6.0F) * (1.0F / 6.0F); }
  static float gradient(float x, float slope) {
    const float inside = x * (1.0F / 3.0F) + 0.5F;
    return slope * (x <= -3.0F ? 0.0F : (x >= 3.0F ? 1.0F : inside));
  }
};
struct HardSigmoid {
  static float value(float x) { return clamped(x + 3.0F, 6.0F) * (1.0F / 6.0F); }
  static float gradient(float y, float slope) {
    return (y <= 0.0F) | (y >= 1.0F) ? 0.0F : slope * (1.0F / 6.0F);
  }
};
struct Sigmoid {
  static float value(float x) { return sigmoid_of(x); }
  static float gradient(float y, float slope) { return slope * (y * (1.0F - y)); }
};
struct Tanh {
  static float value(float x) { return tanh_of(x); }
  static float gradient(float y, float slope) { return slope * ((1.0F - y) * (1.0F + y)); }
};

template <class Kind>
void forward(std::size_t size, const float* input, float* output) {
#pragma GCC ivdep  // equal pointers do no harm
  for (std::size_t i = 0; i < size; ++i) output[i] = Kind::value(input[i]);
}
template <class Kind>
void backward(std::size_t size, const float* kept, const float* d_output, float* d_input) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) d_input[i] = Kind::gradient(kept[i], d_output[i]);
}
template <class Kind>
void add_backward(std::size_t size, const float* kept, const float* d_output, float* d_input) {
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) d_input[i] += Kind::gradient(kept[i], d_output[i]);
}

template <class... Kinds>
constexpr ActivationTable table_of() {
  static_assert(sizeof...(Kinds) == ActivationTable::kinds);
  return {{forward<Kinds>...}, {backward<Kinds>...}, {add_backward<Kinds>...}};
}

}  // namespace

const ActivationTable activation =
    table_of<Relu, Relu6, Gelu, GeluTanh, Silu, HardSwish, HardSigmoid, Sigmoid, Tanh>();

}  // namespace steelyard::nn::STEELYARD_LEVEL
