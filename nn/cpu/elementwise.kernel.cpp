// Activations, dropout and scaled channels as plain loops, which the compiler vectorises. The cheap ones are
// bound by memory. Both values of a choice are computed, without branches; comparisons keep NaN
// as NaN.
#include <cstddef>
#include <cstdint>

#include "nn/cpu/kernels.h"
#include "nn/cpu/stored.h"
#include "nn/cpu/vector_math.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

[[gnu::always_inline]] inline float clamped(float x, float max) {
  const float positive = x < 0.0F ? 0.0F : x;
  return positive > max ? max : positive;
}

// Each kind: its value at x, and `slope` times the derivative, computed from the kept value.
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
// x (1 + tanh u) / 2 is x sigmoid(2u); 1.5957... is 2 sqrt(2 / pi). Beyond 10 the slope is the limit's.
struct GeluTanh {
  static float argument(float x) { return 1.59576912F * (x + 0.044715F * x * x * x); }
  static float value(float x) { return x * sigmoid_of(argument(x)); }
  static float gradient(float x, float slope) {
    const float raised = x < -10.0F ? -10.0F : x, near = raised > 10.0F ? 10.0F : raised;
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

template <class Kind, class T>
void forward(std::size_t size, const BitsOf<T>* input_bits, BitsOf<T>* output_bits) {
  const T* const input = numbers<T>(input_bits);
  T* const output = numbers<T>(output_bits);
#pragma GCC ivdep  // equal pointers are safe
  for (std::size_t i = 0; i < size; ++i) output[i] = Kind::value(input[i]);
}
template <class Kind, class T, bool add>
void backward(std::size_t size, const BitsOf<T>* kept_bits, const BitsOf<T>* d_output_bits,
              BitsOf<T>* d_input_bits) {
  const T *const kept = numbers<T>(kept_bits), *const d_output = numbers<T>(d_output_bits);
  T* const d_input = numbers<T>(d_input_bits);
#pragma GCC ivdep
  for (std::size_t i = 0; i < size; ++i) {
    const float gradient = Kind::gradient(kept[i], d_output[i]);
    d_input[i] = add ? d_input[i] + gradient : gradient;
  }
}

template <class T, class... Kinds>
constexpr ActivationTableOf<BitsOf<T>> table_with() {
  static_assert(sizeof...(Kinds) == ActivationTable::kinds);
  return {{forward<Kinds, T>...}, {backward<Kinds, T, false>...}, {backward<Kinds, T, true>...}};
}
template <class T>
constexpr ActivationTableOf<BitsOf<T>> table_of() {
  return table_with<T, Relu, Relu6, Gelu, GeluTanh, Silu, HardSwish, HardSigmoid, Sigmoid, Tanh>();
}

// ---- dropout

using Bits = std::uint16_t;

constexpr int together = 16;  // groups of four features

// mix() of include/steelyard/hash.h, repeated: kernels must not include inline functions of other headers.
[[gnu::always_inline]] inline std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
  return x ^ (x >> 31);
}

// to[i] = from[i], masked, or +=, for `size` features.
template <bool add>
[[gnu::always_inline]] inline void masked(const DropoutSweep& sweep, const Bits* bits, int size,
                                          const float* from, float* to) {
  const auto dropped = static_cast<int>(sweep.dropped);
  const float scale = sweep.scale;
#pragma GCC ivdep  // equal pointers are safe
  for (int i = 0; i < size; ++i) {
    const float kept = from[i] * scale, value = int{bits[i]} < dropped ? 0.0F : kept;
    to[i] = add ? to[i] + value : value;
  }
}

// The rows of a buffer in lanes, [channel][pixel], for features in the order of samples, [pixel][channel].
class FeatureRows {
 public:
  explicit FeatureRows(const DropoutSweep& sweep) : pixels_(sweep.pixels), channels_(sweep.channels) {}

  std::uint64_t next() {
    const std::uint64_t row = channel_ * pixels_ + pixel_;
    if (++channel_ == channels_) {
      channel_ = 0;
      ++pixel_;
    }
    return row;
  }

 private:
  std::uint64_t pixels_, channels_, pixel_ = 0, channel_ = 0;
};

// The loops over lanes have a variable length: gcc unrolls short loops of a known length, and leaves them
// scalar.
template <bool add>
void lanes_of(const DropoutSweep& sweep, const float* from, float* to) {
  constexpr std::uint32_t many = 64;
  const std::uint64_t features = sweep.pixels * sweep.channels;
  FeatureRows rows(sweep);
  for (std::uint64_t first = 0; first < features; first += 4) {
    const std::uint64_t group = mixed(first);
    const int count = features - first < 4 ? static_cast<int>(features - first) : 4;
    std::uint64_t begins[4];
    for (int f = 0; f < count; ++f) begins[f] = rows.next() * sweep.places;
    for (std::uint32_t lane = 0; lane < sweep.places; lane += many) {
      const auto lanes = static_cast<int>(sweep.places - lane < many ? sweep.places - lane : many);
      std::uint64_t bits[many];
      for (int s = 0; s < lanes; ++s) bits[s] = mixed(sweep.keys[lane + s] ^ group);
      for (int f = 0; f < count; ++f) {
        Bits low[many];
        for (int s = 0; s < lanes; ++s) low[s] = static_cast<Bits>(bits[s] >> (16 * f));
        masked<add>(sweep, low, lanes, from + begins[f] + lane, to + begins[f] + lane);
      }
    }
  }
}

// The bits of neighbouring groups belong to neighbouring features. The groups' part of the hash is computed
// once for all samples, some thousand features at a time.
template <bool add>
void samples_of(const DropoutSweep& sweep, const float* from, float* to) {
  constexpr std::uint64_t some = 4096;
  const std::uint64_t features = sweep.pixels * sweep.channels;
  std::uint64_t groups[some / 4];
  for (std::uint64_t begin = 0; begin < features; begin += some) {
    const std::uint64_t end = begin + some < features ? begin + some : features;
    for (std::uint64_t g = 0; g < some / 4 && begin + 4 * g < end; ++g) groups[g] = mixed(begin + 4 * g);
    for (std::uint32_t s = 0; s < sweep.places; ++s) {
      for (std::uint64_t first = begin; first < end; first += 4 * together) {
        std::uint64_t bits[together];
        const std::uint64_t* group = groups + (first - begin) / 4;
        for (int g = 0; g < together; ++g) bits[g] = mixed(sweep.keys[s] ^ group[g]);
        const std::uint64_t at = s * features + first;
        Bits drawn[4 * together];
        __builtin_memcpy(drawn, bits, sizeof(bits));
        if (first + 4 * together <= end) {
          masked<add>(sweep, drawn, 4 * together, from + at, to + at);
        } else {
          masked<add>(sweep, drawn, static_cast<int>(end - first), from + at, to + at);
        }
      }
    }
  }
}

void lanes(const DropoutSweep& sweep, const float* from, bool add, float* to) {
  (add ? lanes_of<true> : lanes_of<false>)(sweep, from, to);
}

void samples(const DropoutSweep& sweep, const float* from, bool add, float* to) {
  (add ? samples_of<true> : samples_of<false>)(sweep, from, to);
}

// ---- scale: one sweep in each direction

using std::size_t;

void scale_forward(size_t rows, size_t channels, const float* a, const float* factors, float* to) {
  for (size_t row = 0; row < rows; ++row, a += channels, to += channels) {
#pragma GCC ivdep
    for (size_t c = 0; c < channels; ++c) to[c] = a[c] * factors[c];
  }
}

enum class Target { none, write, add };

template <Target target>
void scale_backward_of(size_t rows, size_t channels, const float* a, const float* factors,
                       const float* d_output, float* d_a, float* __restrict d_factors) {
  for (size_t row = 0; row < rows; ++row, a += channels, d_output += channels) {
#pragma GCC ivdep  // d_a may be d_output
    for (size_t c = 0; c < channels; ++c) {
      const float d = d_output[c];
      d_factors[c] += a[c] * d;
      if constexpr (target == Target::write) d_a[c] = d * factors[c];
      if constexpr (target == Target::add) d_a[c] += d * factors[c];
    }
    if constexpr (target != Target::none) d_a += channels;
  }
}

void scale_backward(size_t rows, size_t channels, const float* a, const float* factors, const float* d_output,
                    bool add, float* d_a, float* d_factors) {
  const auto kernel = d_a == nullptr
                          ? scale_backward_of<Target::none>
                          : (add ? scale_backward_of<Target::add> : scale_backward_of<Target::write>);
  kernel(rows, channels, a, factors, d_output, d_a, d_factors);
}

}  // namespace

const ActivationTable activation = table_of<float>();
const ActivationTableOf<Bf16Bits> activation_bf16 = table_of<Stored>();
const DropoutTable dropout = {lanes, samples};
const ScaleTable scale = {scale_forward, scale_backward};

}  // namespace steelyard::nn::STEELYARD_LEVEL
