#include "balancing/orchestra/load_balance.h"

#include <algorithm>
#include <cmath>

#include "balancing/no_plan.h"
#include "core/check.h"

namespace steelyard::balancing::orchestra {
namespace {

constexpr double rounding = 1e-9;  // relative: less is no time

}  // namespace

std::uint64_t local_steps(double period, double batch_seconds) {
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(period / batch_seconds * (1 + rounding)));
}

Period best_period(std::span<const double> batch_seconds, SearchOptions options) {
  CHECK(!batch_seconds.empty(), "no worker to balance");
  const auto [least, most] = std::ranges::minmax(batch_seconds);
  require_sense(least > 0 && std::isfinite(most), "a mini-batch takes no time, or for ever");
  Period best;
  for (std::uint64_t k = 0;; ++k) {
    // Counted, not added up: the last of a thousand units is where it should be.
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

}  // namespace steelyard::balancing::orchestra
