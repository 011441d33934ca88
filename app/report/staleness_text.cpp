#include "app/report/staleness_text.h"

#include <cstdio>
#include <numeric>

namespace steelyard {

std::uint64_t pushes(const Staleness& staleness) {
  return std::accumulate(staleness.begin(), staleness.end(), std::uint64_t{0});
}

double mean_of(const Staleness& staleness) {
  const std::uint64_t all = pushes(staleness);
  double sum = 0;
  for (std::size_t late = 0; late < staleness.size(); ++late)
    sum += static_cast<double>(late) * static_cast<double>(staleness[late]);
  return all > 0 ? sum / static_cast<double>(all) : -1;
}

std::uint64_t quantile_of(const Staleness& staleness, double share) {
  const double enough = share * static_cast<double>(pushes(staleness));
  double seen = 0;
  for (std::size_t late = 0; late < staleness.size(); ++late) {
    seen += static_cast<double>(staleness[late]);
    if (seen >= enough) return late;
  }
  return staleness.empty() ? 0 : staleness.size() - 1;
}

std::string staleness_text(const Staleness& staleness) {
  if (pushes(staleness) == 0) return {};
  const auto within = [&](double share) {
    const std::uint64_t late = quantile_of(staleness, share);
    return std::to_string(late) + (late + 1 == staleness_places ? " or more" : "");
  };
  char mean[32];
  std::snprintf(mean, sizeof mean, "%.1f", mean_of(staleness));
  return std::string(mean) + " updates on average, half within " + within(0.5) + ", 95 % within " +
         within(0.95) + ", all within " + within(1);
}

}  // namespace steelyard
