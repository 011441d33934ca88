// What `steelyard` pays in advance: a smaller share for who is often slow all at once.
#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/share_bounds.h"
#include "balancing/policy/steelyard.h"

namespace steelyard::balancing {
namespace {

constexpr std::size_t most_insured = 8;  // workers looked at in one plan: each costs a solution
constexpr double clear_saving = 0.005;   // relative, below which it is not worth the trouble

struct Danger {
  std::size_t worker;
  CostFilter::Risk risk;
};

// E(x) of the header, in seconds.
double expected(const std::vector<Affine>& curves, const std::vector<std::uint64_t>& shares,
                const std::vector<Danger>& dangers, double lag) {
  const double calm = longest(curves, shares);
  double time = calm;
  for (const auto& [i, risk] : dangers) {
    if (shares[i] == 0) continue;
    const double slow = risk.factor * curves[i](static_cast<double>(shares[i]));
    time += risk.probability * lag * std::max(0.0, slow - calm);
  }
  return time;
}

}  // namespace

std::vector<Affine> Steelyard::insured(const Request& request, std::vector<Affine> curves) const {
  std::vector<Danger> dangers;
  for (std::size_t i = 0; i < curves.size() && dangers.size() < most_insured; ++i) {
    const auto known = workers_.find(request.workers[i].slot);
    if (known == workers_.end()) continue;
    const CostFilter::Risk risk = known->second.risk();
    if (risk.probability > 0) dangers.push_back({i, risk});
  }
  if (dangers.empty()) return curves;
  const std::vector<Bound> limits = share_bounds(request);
  const double lag = changes_last() ? 1 : 2;
  const auto loss = [&](const std::vector<Affine>& assumed) {
    return expected(curves, min_max(assumed, limits, request.positions), dangers, lag);
  };
  std::vector<Affine> cautious = curves;
  double least = loss(cautious);
  for (const auto& [i, risk] : dangers) {
    std::vector<Affine> more = cautious;
    more[i].fixed *= risk.factor, more[i].per_sample *= risk.factor;
    const double time = loss(more);
    if (time < (1 - clear_saving) * least) cautious = std::move(more), least = time;
  }
  return cautious;
}

}  // namespace steelyard::balancing
