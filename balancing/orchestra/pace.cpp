#include "balancing/orchestra/pace.h"

#include <algorithm>
#include <cmath>

#include "balancing/no_plan.h"
#include "core/check.h"

namespace steelyard::balancing::orchestra {

namespace {

constexpr double rounding = 1e-9;  // relative: smaller differences are rounding errors

}  // namespace

std::uint64_t local_steps(double period, double batch_seconds) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(period / batch_seconds * (1 + rounding)));
}

Period best_period(std::span<const double> batch_seconds, SearchOptions options) {
  CHECK(!batch_seconds.empty(), "no worker to balance");
  const auto [least, most] = std::ranges::minmax(batch_seconds);
  require_sense(least > 0 && std::isfinite(most), "the time of a mini-batch is zero or infinite");
  Period best;
  for (std::uint64_t k = 0;; ++k) {
    // Multiplied, not accumulated, so that even the thousandth unit is exact.
    const double factor = 1 + static_cast<double>(k) * options.unit;
    const double period = most * factor;
    const bool far_apart = local_steps(period, least) - local_steps(period, most) > options.most_apart;
    if (k > 0 && (far_apart || factor > options.longest * (1 + rounding))) return best;
    double idle = 0;
    for (const double seconds : batch_seconds) {
      const double worked = static_cast<double>(local_steps(period, seconds)) * seconds;
      idle = std::max(idle, period - worked);
    }
    if (k == 0 || idle < best.idle - rounding * period) best = {period, idle};
  }
}

Pace::Pace(PaceOptions options) : options_(options), controller_(options.seed), period_(1, options.unit) {}

void Pace::count_round(double mean_steps) {
  ++barriers_;
  steps_ += mean_steps;
}

void Pace::ended(const RoundEnd& round) {
  if (now_.number > 0 && round.epoch != now_.number) forget_epoch();
  const auto positions = static_cast<double>(round.positions);
  now_.number = round.epoch;
  now_.positions += positions;
  now_.right += round.accuracy * positions;
  now_.seconds += round.seconds;
}

void Pace::next_epoch(const std::vector<BarrierView::Worker>& workers) {
  const double accuracy = now_.accuracy();
  if (accuracy > 0) {
    const bool gain = before_ > 0 && now_.seconds > 0;
    const int reward = gain ? reward_(accuracy - before_, now_.seconds, steps_) : 0;
    period_.move(controller_.decide({workers, barriers_, accuracy}, reward));
  }
  forget_epoch();
}

}  // namespace steelyard::balancing::orchestra
