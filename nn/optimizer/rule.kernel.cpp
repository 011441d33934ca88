// The update rules as plain loops, which the compiler vectorises. They are bound by memory.
#include <cstddef>

#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

void sgd(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
         float scale, float decay, float rate) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = scale * sum[i] + decay * w[i];
    out[i] = w[i] - rate * g;
  }
}

void momentum(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
              float* __restrict m, float scale, float decay, float rate, float mu) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = scale * sum[i] + decay * w[i];
    m[i] = mu * m[i] + g;
    out[i] = w[i] - rate * m[i];
  }
}

void nesterov(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
              float* __restrict m, float scale, float decay, float rate, float mu) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = scale * sum[i] + decay * w[i];
    m[i] = mu * m[i] + g;
    out[i] = w[i] - rate * (g + mu * m[i]);
  }
}

void lars(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
          float* __restrict m, float scale, float decay, float rate, float mu) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = scale * sum[i] + decay * w[i];
    m[i] = mu * m[i] + rate * g;
    out[i] = w[i] - m[i];
  }
}

void adam(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
          float* __restrict m, float* __restrict v, MomentFactors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = f.scale * sum[i] + f.decay * w[i];
    m[i] = f.beta1 * m[i] + f.fresh1 * g;
    v[i] = f.beta2 * v[i] + f.fresh2 * g * g;
    out[i] = f.keep * w[i] - f.rate * m[i] / (__builtin_sqrtf(v[i]) * f.correct2 + f.epsilon);
  }
}

void lamb(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
          float* __restrict m, float* __restrict v, MomentFactors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const float g = f.scale * sum[i];
    m[i] = f.beta1 * m[i] + f.fresh1 * g;
    v[i] = f.beta2 * v[i] + f.fresh2 * g * g;
    out[i] = f.correct1 * m[i] / (__builtin_sqrtf(v[i]) * f.correct2 + f.epsilon) + f.decay * w[i];
  }
}

void walk(std::size_t size, float* __restrict out, const float* __restrict w, float rate) {
  for (std::size_t i = 0; i < size; ++i) out[i] = w[i] - rate * out[i];
}

void blend(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
           float keep, float scale) {
  for (std::size_t i = 0; i < size; ++i) out[i] = keep * w[i] + scale * sum[i];
}

}  // namespace

const RuleTable rules = {sgd, momentum, nesterov, lars, adam, lamb, walk, blend};

}  // namespace steelyard::nn::STEELYARD_LEVEL
