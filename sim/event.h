// What disturbs a worker, and when: the [[event]] of a scenario.
//
// An event has an effect and a shape. The shape says how strong the effect is in each round, from 0 (not
// there) to 1 (all of it); the effect says what that does to the time of a batch:
//
//   t(b) = (p(b) scale / cpu + add) noise      p: the worker's own polynomial
//
// Rounds count from 0, as in the records of a run; `to` is the first round that is free of it again. An
// event that goes by the clock counts seconds from the beginning of the first round in their place; what
// holds for a batch, or for the exchange of a round, is how strong it is when that begins.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace steelyard::sim {

enum class Shape : std::uint8_t {
  step,         // all of it, from `from` to `to`
  ramp,         // grows evenly from `from` to `to`, and then stays
  periodic,     // all of it in the first `length` rounds of every `period`
  bursty,       // comes and goes; gaps and lengths are random (geometric, at least 1) with these means
  random_walk,  // no strength: `scale` is a walk, multiplied by exp(deviation x normal) every round
};

inline const std::vector<std::string>& shape_names() {
  static const std::vector<std::string> names{"step", "ramp", "periodic", "bursty", "random_walk"};
  return names;
}

struct Event {
  std::optional<std::size_t> worker;  // nobody named: everybody, each with random draws of its own
  Round from = 0, to = UINT64_MAX;
  bool by_clock = false;  // the next two count, and not the two before
  double from_s = 0, to_s = std::numeric_limits<double>::infinity();
  Shape shape = Shape::step;

  // Effects; several together are allowed.
  double add_ms = 0;   // to every batch
  double scale = 1;    // times the worker's own time
  double cpu = 1;      // share left by a co-tenant; workers of kind "cpu" see and report it
  double memory = 1;   // share left by a co-tenant; is reported, and alone changes no time
  double network = 1;  // times the worker's exchange
  bool kill =
      false;  // dies as soon as round `from` has begun, and comes back for round `to` if that is given
  bool join = false;        // is not there before round `from`
  bool cut = false;         // its connections break once, as round `from` begins
  bool unforeseen = false;  // counts as noise: the oracle does not know of it

  // Of the shapes.
  std::uint64_t period = 0, length = 0;  // periodic, in rounds
  double period_s = 0, length_s = 0;     // periodic, by the clock
  double mean_gap = 0, mean_length = 0;  // bursty, in rounds
  double deviation = 0;                  // random walk
  double lowest = 0.25, highest = 4;     // random walk: its bounds
  std::optional<std::uint64_t> draws{};  // what random shapes are drawn from; nothing: scenario and place
};

}  // namespace steelyard::sim
