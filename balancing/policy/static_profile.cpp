#include "balancing/policy/static_profile.h"

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/state.h"

namespace steelyard::balancing {
std::vector<std::uint64_t> StaticProfile::plan(const Request& request) {
  if (!options_.curves.empty() || options_.speeds.empty()) {
    const std::vector<Cubic> curves = profiled_curves(options_.curves, request);
    if (!curves.empty()) return profile_split(curves, request, with_rest(request, share_bounds(request)));
  }
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

std::vector<Cubic> profiled_curves(const Profile& given, const Request& request) {
  std::vector<Profile::Line> measured;
  for (const WorkerView& worker : request.workers) {
    if (const Cubic curve{worker.profile}; curve != Cubic{}) measured.push_back({"", curve});
  }
  if (given.empty() && measured.empty()) return {};
  const Cubic mean = Profile(measured).mean();
  std::vector<Cubic> curves;
  for (const WorkerView& worker : request.workers) {
    const Cubic own{worker.profile};
    curves.push_back(!given.empty() ? given.of(worker.name, worker.slot) : own != Cubic{} ? own : mean);
  }
  return curves;
}

std::vector<std::uint64_t> profile_split(const std::vector<Cubic>& curves, const Request& request,
                                         const std::vector<Bound>& bounds) {
  std::vector<Curve> times;
  for (const Cubic& curve : curves) {
    times.push_back([curve = curve.over_grains(request.grain), walk = request.walk](std::uint64_t samples) {
      return curve.over(walk, static_cast<double>(samples));
    });
  }
  return min_max(times, bounds, request.positions);
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
