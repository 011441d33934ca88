// Local steps: the arithmetic of rounds in which workers step by themselves and push how far they came.
//
// A round's positions are cut into `steps` batches of about the same size, and so is every piece of it, each
// for itself, between grains. With more than one pass the same positions are walked again in each of so many
// epochs, under that epoch's permutation. Learning rates are those of the place in the training, so they
// follow the schedule within a round.
//
// How far a worker came is pushed in units of the round's rate, the largest of its steps:
//
//   push = weight * (w(k) - w_local) / rate,   and the server:   w(k+1) = w(k) - rate * sum / weight
//
// which is plain SGD's own formula. So one local step of plain SGD pushes the very gradient that bsp would
// push, and the server does to it the very same: the results are equal bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "core/interval.h"
#include "nn/optimizer/schedule.h"
#include "wire/sync_mode.h"

namespace steelyard {

// In one round, over all of its passes. Beyond, shards and workers ignore the round: its learning rates alone
// would take seconds to work out. So a job is refused that would need more.
inline constexpr std::uint64_t most_steps_in_round = 1 << 24;

struct LocalSteps {
  std::uint64_t steps = 0;   // in each pass; 0: none, gradients are pushed
  std::uint64_t passes = 1;  // epochs, over the same positions of each
  friend bool operator==(const LocalSteps&, const LocalSteps&) = default;
};

// The steps of the longest round of a job in this mode, over all of its passes; UINT64_MAX for what is more
// than a number holds. `batch` is the global one.
std::uint64_t steps_of_longest_round(const SyncMode& mode, std::uint64_t samples, std::uint64_t batch,
                                     std::uint64_t epochs);

// The part of `whole` (which is not empty) that step `step` of `steps` is about: consecutive, of whole grains
// but for the end of `whole`; their numbers of grains differ by one at the most. Empty for some if there are
// more steps than grains.
Interval part_of(Interval whole, std::uint64_t step, std::uint64_t steps, std::uint64_t grain = 1);

// The rate of one step of a round over `round`'s positions that begins in this epoch.
double step_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                 const LocalSteps& local, std::uint64_t pass, std::uint64_t step);
// The unit of what is pushed. Without local steps: the rate of the round.
double round_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                  const LocalSteps& local);

}  // namespace steelyard
