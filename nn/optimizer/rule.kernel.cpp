// The update rules as plain loops, which the compiler vectorises. They are bound by memory.
#include <cstddef>

#include "nn/optimizer/rule_elements.h"
#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

void sgd(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
         float scale, float decay, float rate) {
  for (std::size_t i = 0; i < size; ++i) out[i] = sgd_of(w[i], sum[i], scale, decay, rate);
}

void momentum(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
              float* __restrict m, float scale, float decay, float rate, float mu) {
  for (std::size_t i = 0; i < size; ++i) {
    const NextMoment next = momentum_of(w[i], sum[i], m[i], scale, decay, rate, mu);
    m[i] = next.m;
    out[i] = next.out;
  }
}

void nesterov(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
              float* __restrict m, float scale, float decay, float rate, float mu) {
  for (std::size_t i = 0; i < size; ++i) {
    const NextMoment next = nesterov_of(w[i], sum[i], m[i], scale, decay, rate, mu);
    m[i] = next.m;
    out[i] = next.out;
  }
}

void lars(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
          float* __restrict m, float scale, float decay, float rate, float mu) {
  for (std::size_t i = 0; i < size; ++i) {
    const NextMoment next = lars_of(w[i], sum[i], m[i], scale, decay, rate, mu);
    m[i] = next.m;
    out[i] = next.out;
  }
}

void adam(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
          float* __restrict m, float* __restrict v, MomentFactors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const NextMoments next = adam_of(w[i], sum[i], m[i], v[i], f);
    m[i] = next.m;
    v[i] = next.v;
    out[i] = next.out;
  }
}

void lamb(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
          float* __restrict m, float* __restrict v, MomentFactors f) {
  for (std::size_t i = 0; i < size; ++i) {
    const NextMoments next = lamb_of(w[i], sum[i], m[i], v[i], f);
    m[i] = next.m;
    v[i] = next.v;
    out[i] = next.out;
  }
}

void walk(std::size_t size, float* __restrict out, const float* __restrict w, float rate) {
  for (std::size_t i = 0; i < size; ++i) out[i] = walk_of(w[i], out[i], rate);
}

void blend(std::size_t size, float* __restrict out, const float* __restrict w, const float* __restrict sum,
           float keep, float scale) {
  for (std::size_t i = 0; i < size; ++i) out[i] = blend_of(w[i], sum[i], keep, scale);
}

}  // namespace

const RuleTable rules = {sgd, momentum, nesterov, lars, adam, lamb, walk, blend};

}  // namespace steelyard::nn::STEELYARD_LEVEL
