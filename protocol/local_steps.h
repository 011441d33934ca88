// Local steps: the arithmetic of rounds in which workers take several optimizer steps locally and push the
// difference of the parameters.
//
// A round's positions are divided into `steps` batches of about the same size, and so is each piece, at
// borders between grains. With P passes, the same positions are used in P epochs, each time under that
// epoch's permutation. The learning rate of a step follows from its position in the training, so it follows
// the schedule within a round.
//
// Balanced (diloco:H): all workers use batches of one size, `batch` positions, and faster workers take more
// steps. A piece of n positions has tau = n / batch steps; a round has H for each worker on average. The
// pushed difference is scaled by the walk a(tau), the distance that the optimizer moves in tau steps under
// the constant gradient 1 and the rate 1:
//
//   push = weight * a(H) / a(tau) * (w(k) - w_local) / rate
//
// Under plain SGD a(tau) = tau, and to first order every sample has the same weight, however the round is
// divided.
//
// Paced (orchestra): batches have one size, too, but the policy decides how many each worker takes. With
// equal weights nothing is scaled: the server averages the workers' results.
//
// The difference is pushed in units of the round's rate, the largest of its steps:
//
//   push = weight * (w(k) - w_local) / rate,   and the server:   w(k+1) = w(k) - rate * sum / weight
//
// This is the formula of plain SGD. So one local step of plain SGD pushes the same gradient as bsp and the
// server applies the same update: the results are equal, bit for bit.
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
// A round is a sequence of grains of Job::grain positions, counted from its begin; the last one is shorter if
// the length is not a multiple. Batch statistics are computed per grain, and pieces and local steps begin and
// end between grains, so no division of a round changes its result. `grain` is never 0.

// Number of grains that hold this number of positions.
[[nodiscard]] constexpr std::uint64_t grains_in(std::uint64_t positions, std::uint64_t grain) {
  return positions / grain + (positions % grain > 0 ? 1 : 0);
}

// The smallest range of whole grains of `round` that contains `part` (not empty, inside the round).
[[nodiscard]] constexpr Interval widened_to_grains(Interval round, Interval part, std::uint64_t grain) {
  const Position before = round.begin + (part.begin - round.begin) / grain * grain;
  const std::uint64_t until = grains_in(part.end - round.begin, grain);
  const bool last = until > round.size() / grain;
  return {before, last ? round.end : round.begin + until * grain};
}

// Whether `part`, inside `round`, begins and ends between grains.
[[nodiscard]] constexpr bool on_grains(Interval round, Interval part, std::uint64_t grain) {
  return widened_to_grains(round, part, grain) == part;
}

// Maximum number of steps of a round over all its passes. Shards and workers ignore rounds with more, because
// computing the learning rates alone would take seconds. Jobs that would need more are refused.
inline constexpr std::uint64_t most_steps_in_round = 1 << 24;

struct LocalSteps {
  std::uint64_t steps = 0;   // in each pass; 0: no local steps, gradients are pushed
  std::uint64_t passes = 1;  // epochs; the same positions in each
  // Positions of a step, counted from the piece's begin; `steps` is then the average over the workers. 0: a
  // piece has `steps` steps, whatever its length.
  std::uint64_t batch = 0;
  friend bool operator==(const LocalSteps&, const LocalSteps&) = default;
  void serialize(auto& fields) { fields(steps, passes, batch); }
};

// The number of steps of the longest round of a job in this mode, over all passes; UINT64_MAX on overflow.
// `batch` is the global batch.
std::uint64_t steps_of_longest_round(const SyncMode& mode, std::uint64_t samples, std::uint64_t batch,
                                     std::uint64_t epochs);

// The positions of step `step` of `steps` within `whole` (not empty): consecutive, of whole grains except at
// the end of `whole`; their numbers of grains differ by at most one. Some are empty if there are more steps
// than grains.
Interval part_of(Interval whole, std::uint64_t step, std::uint64_t steps, std::uint64_t grain = 1);

// The number of steps of a piece in each pass, and the positions of one of them.
std::uint64_t steps_of(const LocalSteps& local, std::uint64_t positions);
Interval part_of(Interval piece, std::uint64_t step, const LocalSteps& local, std::uint64_t grain);

// LocalSteps::batch of a round with these numbers of positions, steps and workers (none is 0): all workers
// together take steps x workers batches, the last of which may be shorter. Whole grains, at least one.
std::uint64_t balanced_batch(std::uint64_t positions, std::uint64_t steps, std::uint64_t workers,
                             std::uint64_t grain);

// The walk a(steps), as defined above, of sgd, momentum or nesterov.
double walk(const nn::Optimizer& optimizer, std::uint64_t steps);

// The learning rate of one step of a round that has these positions and begins in this epoch. `samples`: of
// the training set.
double step_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                 const LocalSteps& local, std::uint64_t pass, std::uint64_t step);
// The `rate` above, the unit of the pushed differences. Without local steps: the learning rate of the round.
double round_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                  const LocalSteps& local);

}  // namespace steelyard
