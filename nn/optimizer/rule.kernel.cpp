// The update rules as plain loops, which the compiler vectorises. They are bound by memory, so a push that is
// not in the sum yet is added on the way, and a large version is written past the caches.
#include <cstddef>
#include <cstdint>

#include "nn/optimizer/rule_elements.h"
#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn::STEELYARD_LEVEL {
namespace {

constexpr std::size_t line = 64;   // bytes of a cache line
constexpr std::size_t chunk = 64;  // floats computed before they are written

// Writes floats of whole cache lines without reading these first; fence() makes them visible to other
// threads in the order of other writes.
#if defined(__x86_64__) && !defined(__clang__)
#if defined(__AVX512F__)
using Lanes [[gnu::vector_size(64)]] = float;
void stream(float* to, const Lanes& from) { __builtin_ia32_movntps512(to, from); }
#elif defined(__AVX__)
using Lanes [[gnu::vector_size(32)]] = float;
void stream(float* to, const Lanes& from) { __builtin_ia32_movntps256(to, from); }
#else
using Lanes [[gnu::vector_size(16)]] = float;
void stream(float* to, const Lanes& from) { __builtin_ia32_movntps(to, from); }
#endif
void fence() { __builtin_ia32_sfence(); }
#else
using Lanes [[gnu::vector_size(16)]] = float;
void stream(float* to, const Lanes& from) { __builtin_memcpy(to, &from, sizeof from); }
void fence() {}
#endif

void stream_chunk(float* to, const float* from) {
  constexpr std::size_t lanes = sizeof(Lanes) / sizeof(float);
  for (std::size_t k = 0; k < chunk; k += lanes) {
    Lanes values;
    __builtin_memcpy(&values, from + k, sizeof values);
    stream(to + k, values);
  }
}

// out[i] = next(i, the whole sum of element i) for all elements.
template <bool has_last, bool streams, class Next>
[[gnu::always_inline]] inline void each(const RuleCall& c, Next next) {
  const std::size_t size = c.size;
  float* const out = c.out;
  const float *const sum = c.sum, *const last = c.last;
  const auto value = [&](std::size_t i) { return next(i, has_last ? sum[i] + last[i] : sum[i]); };
  std::size_t i = 0;
  if constexpr (streams) {
    for (; i < size && reinterpret_cast<std::uintptr_t>(out + i) % line != 0; ++i) out[i] = value(i);
    for (; i + chunk <= size; i += chunk) {
      alignas(line) float made[chunk];
#pragma GCC ivdep
      for (std::size_t k = 0; k < chunk; ++k) made[k] = value(i + k);
      stream_chunk(out + i, made);
    }
  }
#pragma GCC ivdep
  for (; i < size; ++i) out[i] = value(i);
  if constexpr (streams) fence();
}

template <class Next>
[[gnu::always_inline]] inline void whole(const RuleCall& c, Next next) {
  c.last != nullptr ? each<true, false>(c, next) : each<false, false>(c, next);
}

template <class Next>
[[gnu::always_inline]] inline void sweep(const RuleCall& c, Next next) {
  if (!c.streams) return whole(c, next);
  c.last != nullptr ? each<true, true>(c, next) : each<false, true>(c, next);
}

// The next version and the new state of element i.
float kept(const NextMoment& next, float* m, std::size_t i) {
  m[i] = next.m;
  return next.out;
}
float kept(const NextMoments& next, float* m, float* v, std::size_t i) {
  m[i] = next.m;
  v[i] = next.v;
  return next.out;
}

// Flattened: the compiler vectorises only loops whose bodies it has inlined.
[[gnu::flatten]] void run(const RuleCall& c) {
  using Rule = RuleCall::Rule;
  const float* const w = c.w;
  float *const out = c.out, *const m = c.m, *const v = c.v;
  const float scale = c.scale, decay = c.decay, rate = c.rate, mu = c.momentum;
  const MomentFactors f = c.factors;
  switch (c.rule) {
    case Rule::sgd:
      return sweep(c, [=](std::size_t i, float sum) { return sgd_of(w[i], sum, scale, decay, rate); });
    case Rule::momentum:
      return sweep(c, [=](std::size_t i, float sum) {
        return kept(momentum_of(w[i], sum, m[i], scale, decay, rate, mu), m, i);
      });
    case Rule::nesterov:
      return sweep(c, [=](std::size_t i, float sum) {
        return kept(nesterov_of(w[i], sum, m[i], scale, decay, rate, mu), m, i);
      });
    case Rule::lars:
      return sweep(c, [=](std::size_t i, float sum) {
        return kept(lars_of(w[i], sum, m[i], scale, decay, rate, mu), m, i);
      });
    case Rule::adam:
      return sweep(
          c, [=](std::size_t i, float sum) { return kept(adam_of(w[i], sum, m[i], v[i], f), m, v, i); });
    case Rule::lamb:
      return whole(
          c, [=](std::size_t i, float sum) { return kept(lamb_of(w[i], sum, m[i], v[i], f), m, v, i); });
    case Rule::walk:  // without a sum
      return each<false, false>(c, [=](std::size_t i, float) { return walk_of(w[i], out[i], rate); });
    case Rule::blend:
      return sweep(c, [=](std::size_t i, float sum) { return blend_of(w[i], sum, mu, scale); });
  }
}

}  // namespace

const RuleTable rules = {run};

}  // namespace steelyard::nn::STEELYARD_LEVEL
