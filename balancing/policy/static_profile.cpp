#include "balancing/policy/static_profile.h"

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/state.h"

namespace steelyard::balancing {
std::vector<std::uint64_t> StaticProfile::plan(const Request& request) {
  if (!options_.curves.empty())
    return profile_split(options_.curves, request, with_rest(request, share_bounds(request)));
  std::vector<double> speeds = options_.speeds;
  std::vector<double> weights;
  for (const WorkerView& worker : request.workers) {
    weights.push_back(worker.slot < speeds.size() ? speeds[worker.slot] : 0);
  }
  if (!speeds.empty()) speeds.push_back(0), fill_with_mean(speeds);
  for (double& weight : weights) {
    if (weight == 0) weight = speeds.empty() ? 1 : speeds.back();
  }
  return largest_remainder(weights, request.positions, share_bounds(request));
}

std::vector<std::uint64_t> profile_split(const Profile& profile, const Request& request,
                                         const std::vector<Bound>& bounds) {
  std::vector<Curve> curves;
  for (const WorkerView& worker : request.workers) {
    const Cubic curve = profile.of(worker.name, worker.slot).over_grains(request.grain);
    curves.push_back([curve, walk = request.walk](std::uint64_t samples) {
      return curve.over(walk, static_cast<double>(samples));
    });
  }
  return min_max(curves, bounds, request.positions);
}

PolicyTable static_profile_rows(const PredictorTable&) {
  const auto make = [](const Options& options) {
    return std::make_unique<StaticProfile>(
        StaticOptions{numbers_option(options, "speeds"), curves_option(options, "curves_ms")});
  };
  return {{"static",
           make,
           "fixed shares from given speeds or time curves",
           {text_option("speeds", "", "one number per slot, as in \"100 80 40\""),
            text_option("curves_ms", "",
                        "time in ms as polynomial of the share, low order first, as in \"half: 5.9 0.59; "
                        "slow: 8.3 0.6\"")}}};
}

}  // namespace steelyard::balancing
