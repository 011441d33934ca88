#include "nn/optimizer/local_step.h"

#include <cstddef>

namespace steelyard::nn {
namespace {

// One sweep, without branches inside.
template <class Rule>
void sweep(Rule rule, std::size_t size, const float* gradient, float* local, float* kept, float* moved) {
  for (std::size_t i = 0; i < size; ++i) {
    const local_elements::Element e = rule(gradient[i], {local[i], kept[i], moved[i]});
    local[i] = e.local;
    kept[i] = e.kept;
    moved[i] = e.moved;
  }
}

template <bool first>
void step_range(const LocalRange& range, const float* gradient, float* local, float* kept, float* moved) {
  using local_elements::Element;
  const auto over = [&](auto rule) {
    const std::uint64_t at = range.begin;
    sweep(rule, range.end - at, gradient + at, local + at, kept + at, moved + at);
  };
  const LocalFactors& f = range.factors;
  switch (range.kind) {
    case LocalRange::Kind::momentum:
      return over([&](float g, Element e) { return local_elements::step_of(f, first, false, g, e); });
    case LocalRange::Kind::nesterov:
      return over([&](float g, Element e) { return local_elements::step_of(f, first, true, g, e); });
    case LocalRange::Kind::mean:
      return over([&](float g, Element e) { return local_elements::mean_of(f, first, g, e); });
    case LocalRange::Kind::ema:
      return over([&](float g, Element e) { return local_elements::ema_of(f, first, g, e); });
  }
}

}  // namespace

void local_step(std::span<const LocalRange> ranges, bool first, std::span<const float> gradient,
                std::span<float> local, std::span<float> kept, std::span<float> moved) {
  for (const LocalRange& range : ranges) {
    first ? step_range<true>(range, gradient.data(), local.data(), kept.data(), moved.data())
          : step_range<false>(range, gradient.data(), local.data(), kept.data(), moved.data());
  }
}

}  // namespace steelyard::nn
