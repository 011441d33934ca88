// Local steps: the arithmetic of rounds in which workers step by themselves and push how far they came.
//
// A round's positions are cut into `steps` batches of about the same size, and so is every piece of it, each
// for itself, between grains. With more than one pass the same positions are walked again in each of so many
// epochs, under that epoch's permutation. Learning rates are those of the place in the training, so they
// follow the schedule within a round.
//
// Balanced (diloco:H), all workers step with batches of one size, `batch` positions, and who is quicker takes
// more steps: a piece of n positions has tau = n / batch of them, and the round H for each worker on average.
// What is pushed is scaled by the walk a(tau), which is how far the optimizer goes in tau steps under the
// constant gradient 1 and the rate 1:
//
//   push = weight * a(H) / a(tau) * (w(k) - w_local) / rate
//
// Under plain SGD a(tau) = tau, and to first order every sample weighs the same however a round was divided.
//
// Paced (orchestra), batches are of one size too, and the policy says how many of them each worker takes.
// With equal weights nothing is scaled: what is averaged is what the workers have come to.
//
// How far a worker came is pushed in units of the round's rate, the largest of its steps:
//
//   push = weight * (w(k) - w_local) / rate,   and the server:   w(k+1) = w(k) - rate * sum / weight
//
// which is plain SGD's own formula. So one local step of plain SGD pushes the very gradient that bsp would
// push, and the server does to it the very same: the results are equal bit for bit.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/interval.h"
#include "nn/optimizer/rule.h"
#include "nn/optimizer/schedule.h"
#include "protocol/sync_mode.h"

namespace steelyard {

// Grains: where pieces may begin and end.
//
// A round is a row of grains of Job::grain positions each, counted from its begin; the last one is shorter
// where the round's length is no multiple. Batch statistics belong to a grain, so pieces and local steps have
// their borders between grains, and no division of a round changes what is computed. With a grain of 1 every
// position is a border. `grain` is never 0.

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

// In one round, over all of its passes. Beyond, shards and workers ignore the round: its learning rates alone
// would take seconds to work out. So a job is refused that would need more.
inline constexpr std::uint64_t most_steps_in_round = 1 << 24;

struct LocalSteps {
  std::uint64_t steps = 0;   // in each pass; 0: none, gradients are pushed
  std::uint64_t passes = 1;  // epochs, over the same positions of each
  // Positions of a step, counted from the piece's begin; `steps` is then the average of the workers. 0: a
  // piece has `steps` steps, whatever its length.
  std::uint64_t batch = 0;
  friend bool operator==(const LocalSteps&, const LocalSteps&) = default;
  void serialize(auto& fields) { fields(steps, passes, batch); }
};

// The steps of the longest round of a job in this mode, over all of its passes; UINT64_MAX for what is more
// than a number holds. `batch` is the global one.
std::uint64_t steps_of_longest_round(const SyncMode& mode, std::uint64_t samples, std::uint64_t batch,
                                     std::uint64_t epochs);

// The part of `whole` (which is not empty) that step `step` of `steps` is about: consecutive, of whole grains
// but for the end of `whole`; their numbers of grains differ by one at the most. Empty for some if there are
// more steps than grains.
Interval part_of(Interval whole, std::uint64_t step, std::uint64_t steps, std::uint64_t grain = 1);

// The steps that a piece of so many positions takes in each pass, and the positions of one of them.
std::uint64_t steps_of(const LocalSteps& local, std::uint64_t positions);
Interval part_of(Interval piece, std::uint64_t step, const LocalSteps& local, std::uint64_t grain);

// LocalSteps::batch of a round of so many positions and steps, for so many workers: all of them together take
// steps x workers batches, the last of which may be shorter. Whole grains, at least one; none of the three
// numbers is 0.
std::uint64_t balanced_batch(std::uint64_t positions, std::uint64_t steps, std::uint64_t workers,
                             std::uint64_t grain);

// The walk a(steps) of sgd, momentum or nesterov.
double walk(const nn::Optimizer& optimizer, std::uint64_t steps);

// The rate of one step of a round over `round`'s positions that begins in this epoch.
double step_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                 const LocalSteps& local, std::uint64_t pass, std::uint64_t step);
// The unit of what is pushed. Without local steps: the rate of the round.
double round_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                  const LocalSteps& local);

}  // namespace steelyard
