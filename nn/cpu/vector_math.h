// exp, tanh and the normal distribution, for kernels only: without branches and calls, so that the compiler
// vectorises the loops around them. Relative errors are below 5e-7 if results are normal numbers; smaller
// results become zero. NaN stays NaN.
//
// Coefficients are minimax fits of the relative error, computed for these functions.
#pragma once

#include <cstdint>

namespace steelyard::nn::STEELYARD_LEVEL {

[[gnu::always_inline]] inline std::uint32_t bits_of(float x) { return __builtin_bit_cast(std::uint32_t, x); }
[[gnu::always_inline]] inline float from_bits(std::uint32_t x) { return __builtin_bit_cast(float, x); }
[[gnu::always_inline]] inline float magnitude(float x) { return from_bits(bits_of(x) & 0x7FFF'FFFFU); }
[[gnu::always_inline]] inline float with_sign_of(float magnitude, float sign) {
  return from_bits(bits_of(magnitude) | (bits_of(sign) & 0x8000'0000U));
}

// exp(x + low), for x up to 88 and a small `low`: 2^n exp(r) with n = round(x / ln 2), |r| <= ln 2 / 2.
[[gnu::always_inline]] inline float exp_of(float x, float low = 0) {
  constexpr float round = 0x1.8p23F;  // adding it leaves an integer in the lowest bits
  const float below = x > 88.0F ? 88.0F : x;
  const float shifted = below * 1.44269504F + round;
  const float n = shifted - round;
  const float r = (below - n * 0.693359375F) + (n * 2.12194440e-4F + low);  // ln 2 in two parts
  float p = 0.0013813142F;
  p = p * r + 0.0083694188F;
  p = p * r + 0.041668456F;
  p = p * r + 0.16666515F;
  p = p * r + 0.49999994F;
  p = p * r * r + r + 1.0F;
  const float result = from_bits(bits_of(p) + (bits_of(shifted) << 23));
  return x < -87.0F ? 0.0F : (x != x ? x : result);
}

[[gnu::always_inline]] inline float sigmoid_of(float x) { return 1.0F / (1.0F + exp_of(-x)); }

[[gnu::always_inline]] inline float tanh_of(float x) {
  const float z = x * x;
  float p = -0.0055910074F;
  p = p * z + 0.020538811F;
  p = p * z - 0.053709656F;
  p = p * z + 0.13331093F;
  p = p * z - 0.33333269F;
  const float near = x + x * z * p;
  const float far = with_sign_of(1.0F - 2.0F / (exp_of(2.0F * magnitude(x)) + 1.0F), x);
  return z < 0.39F ? near : (x != x ? x : far);
}

// The standard normal distribution: its density without the factor 1 / sqrt(2 pi), and Phi(x), the
// probability below x. Phi(-a) = exp(-a^2 / 2) q(1 / (1 + 0.3 a)) for a >= 0; the square is exact in two
// parts.
struct Normal {
  float density, below;
};
[[gnu::always_inline]] inline Normal normal_of(float x) {
  const float a = magnitude(x) > 14.0F ? 14.0F : magnitude(x);
  const float high = from_bits(bits_of(a) & 0xFFFF'F000U);
  const float density = exp_of(-0.5F * high * high, -0.5F * (a - high) * (a + high));
  const float t = 1.0F / (1.0F + 0.3F * a);
  float q = 0.035674877F;
  q = q * t - 0.15720350F;
  q = q * t + 0.20635420F;
  q = q * t - 0.053684246F;
  q = q * t + 0.12856193F;
  q = q * t + 0.099913411F;
  q = q * t + 0.12075397F;
  q = q * t + 0.11962930F;
  const float tail = density * q * t;
  return {density, x < 0.0F ? tail : 1.0F - tail};
}

}  // namespace steelyard::nn::STEELYARD_LEVEL
