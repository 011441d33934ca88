// Grains: where pieces may begin and end.
//
// A round is a row of grains of Job::grain positions each, counted from its begin; the last one is shorter
// where the round's length is no multiple. Batch statistics belong to a grain, so pieces and local steps have
// their borders between grains, and no division of a round changes what is computed. With a grain of 1 every
// position is a border. `grain` is never 0.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/interval.h"

namespace steelyard {

// How many grains hold so many positions.
[[nodiscard]] constexpr std::uint64_t grains_in(std::uint64_t positions, std::uint64_t grain) {
  return positions / grain + (positions % grain > 0 ? 1 : 0);
}

// The whole grains of `round` that a part of it (not empty, inside it) touches.
[[nodiscard]] constexpr Interval widened_to_grains(Interval round, Interval part, std::uint64_t grain) {
  const Position before = round.begin + (part.begin - round.begin) / grain * grain;
  const std::uint64_t until = grains_in(part.end - round.begin, grain);
  const bool last = until > round.size() / grain;
  return {before, last ? round.end : round.begin + until * grain};
}

// Whether a part of `round` (inside it) has its borders between grains.
[[nodiscard]] constexpr bool on_grains(Interval round, Interval part, std::uint64_t grain) {
  return widened_to_grains(round, part, grain) == part;
}

}  // namespace steelyard
