#include "protocol/local_steps.h"

#include <algorithm>
#include <cmath>

namespace steelyard {

std::uint64_t steps_of_longest_round(const SyncMode& mode, std::uint64_t samples, std::uint64_t batch,
                                     std::uint64_t epochs) {
  if (!mode.is_local()) return 0;
  if (mode.has_fixed_rounds()) return mode.local;
  const std::uint64_t steps = samples / batch + (samples % batch > 0 ? 1 : 0);
  const std::uint64_t passes = mode.span == SyncMode::Span::job ? std::max<std::uint64_t>(1, epochs) : 1;
  return steps > UINT64_MAX / passes ? UINT64_MAX : steps * passes;
}

Interval part_of(Interval whole, std::uint64_t step, std::uint64_t steps, std::uint64_t grain) {
  const std::uint64_t grains = grains_in(whole.size(), grain), base = grains / steps, longer = grains % steps;
  const auto begin_of = [&](std::uint64_t i) {
    return whole.begin + std::min((i * base + std::min(i, longer)) * grain, whole.size());
  };
  return {begin_of(step), begin_of(step + 1)};
}

std::uint64_t steps_of(const LocalSteps& local, std::uint64_t positions) {
  return local.batch == 0 ? local.steps : grains_in(positions, local.batch);
}

Interval part_of(Interval piece, std::uint64_t step, const LocalSteps& local, std::uint64_t grain) {
  return part_of(piece, step, steps_of(local, piece.size()), local.batch == 0 ? grain : local.batch);
}

std::uint64_t balanced_batch(std::uint64_t positions, std::uint64_t steps, std::uint64_t workers,
                             std::uint64_t grain) {
  const std::uint64_t batches = steps > UINT64_MAX / workers ? UINT64_MAX : steps * workers;
  return grains_in(grains_in(positions, batches), grain) * grain;
}

// With momentum mu, step t goes m(t) = 1 + mu + ... + mu^(t-1) = (1 - mu^t) / (1 - mu), and Nesterov's
// 1 + mu m(t).
double walk(const nn::Optimizer& optimizer, std::uint64_t steps) {
  const auto tau = static_cast<double>(steps);
  const double mu = optimizer.kind == nn::Optimizer::Kind::sgd ? 0 : optimizer.momentum;
  const double far = (tau - mu * (1 - std::pow(mu, tau)) / (1 - mu)) / (1 - mu);
  return optimizer.kind == nn::Optimizer::Kind::nesterov ? tau + mu * far : far;
}

double step_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                 const LocalSteps& local, std::uint64_t pass, std::uint64_t step) {
  const Position begin = local.steps == 0 ? round.begin : part_of(round, step, local.steps).begin;
  return nn::learning_rate(schedule, static_cast<double>(epoch + pass) +
                                         static_cast<double>(begin) / static_cast<double>(samples));
}

double round_rate(const nn::Schedule& schedule, std::uint64_t samples, std::uint64_t epoch, Interval round,
                  const LocalSteps& local) {
  double largest = 0;
  for (std::uint64_t pass = 0; pass < local.passes; ++pass) {
    for (std::uint64_t step = 0; step < std::max<std::uint64_t>(1, local.steps); ++step) {
      largest = std::max(largest, step_rate(schedule, samples, epoch, round, local, pass, step));
    }
  }
  return largest;
}

}  // namespace steelyard
