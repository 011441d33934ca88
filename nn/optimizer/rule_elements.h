// The update rules for one element of a slice. Included by the kernels of every processor level
// (rule.kernel.cpp) and of CUDA devices (nn/cuda/optimizer_kernels.cu), so that both compute the same bits;
// rule.h has the equations.
//
// Each rounding is written down: `fused` rounds once, and no other product is added to anything, so no
// compiler has anything to fuse. Processors of the level `baseline` have no such instruction: there a fused
// operation rounds twice, and results differ from the other levels in the last bit.
//
// Like all code of kernels (cmake/steelyard_targets.cmake) it includes no library headers, and its functions
// are in the namespace of the including file's level.
#pragma once

#include "nn/optimizer/rule_kernels.h"

#if defined(__CUDACC__)
#define STEELYARD_ELEMENT __host__ __device__ inline
#else
#define STEELYARD_ELEMENT [[gnu::always_inline]] inline
#endif

namespace steelyard::nn::STEELYARD_LEVEL {

// a * b + c
STEELYARD_ELEMENT float fused(float a, float b, float c) {
#if defined(__CUDACC__)
  return fmaf(a, b, c);
#elif defined(__FMA__) || defined(__ARM_FEATURE_FMA) || defined(STEELYARD_ALWAYS_FUSED)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}

STEELYARD_ELEMENT float root(float x) {
#if defined(__CUDACC__)
  return sqrtf(x);
#else
  return __builtin_sqrtf(x);
#endif
}

struct NextMoment {  // of sgd's family and lars
  float out, m;
};
struct NextMoments {  // of adam, adamw and lamb
  float out, m, v;
};

STEELYARD_ELEMENT float gradient_of(float w, float sum, float scale, float decay) {
  return fused(scale, sum, decay * w);
}

STEELYARD_ELEMENT float sgd_of(float w, float sum, float scale, float decay, float rate) {
  return fused(-rate, gradient_of(w, sum, scale, decay), w);
}

STEELYARD_ELEMENT NextMoment momentum_of(float w, float sum, float m, float scale, float decay, float rate,
                                         float mu) {
  const float next = fused(mu, m, gradient_of(w, sum, scale, decay));
  return {fused(-rate, next, w), next};
}

STEELYARD_ELEMENT NextMoment nesterov_of(float w, float sum, float m, float scale, float decay, float rate,
                                         float mu) {
  const float g = gradient_of(w, sum, scale, decay), next = fused(mu, m, g);
  return {fused(-rate, fused(mu, next, g), w), next};
}

STEELYARD_ELEMENT NextMoment lars_of(float w, float sum, float m, float scale, float decay, float rate,
                                     float mu) {
  const float next = fused(mu, m, rate * gradient_of(w, sum, scale, decay));
  return {w - next, next};
}

STEELYARD_ELEMENT NextMoments adam_of(float w, float sum, float m, float v, const MomentFactors& f) {
  const float g = gradient_of(w, sum, f.scale, f.decay);
  const float m_next = fused(f.beta1, m, f.fresh1 * g), v_next = fused(f.beta2, v, f.fresh2 * g * g);
  const float move = f.rate * m_next / fused(root(v_next), f.correct2, f.epsilon);
  return {fused(f.keep, w, -move), m_next, v_next};
}

// `out` is the direction.
STEELYARD_ELEMENT NextMoments lamb_of(float w, float sum, float m, float v, const MomentFactors& f) {
  const float g = f.scale * sum;
  const float m_next = fused(f.beta1, m, f.fresh1 * g), v_next = fused(f.beta2, v, f.fresh2 * g * g);
  const float part = f.correct1 * m_next / fused(root(v_next), f.correct2, f.epsilon);
  return {fused(f.decay, w, part), m_next, v_next};
}

STEELYARD_ELEMENT float walk_of(float w, float direction, float rate) { return fused(-rate, direction, w); }

STEELYARD_ELEMENT float blend_of(float w, float sum, float keep, float scale) {
  return fused(keep, w, scale * sum);
}

}  // namespace steelyard::nn::STEELYARD_LEVEL
