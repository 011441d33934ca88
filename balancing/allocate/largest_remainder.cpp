#include "balancing/allocate/largest_remainder.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "balancing/no_plan.h"
#include "core/check.h"

namespace steelyard::balancing {
namespace {

Bound bound_of(std::span<const Bound> bounds, std::size_t i) { return bounds.empty() ? Bound{} : bounds[i]; }

double clamped(double share, Bound bound) {
  return std::clamp(share, static_cast<double>(bound.least), static_cast<double>(bound.most));
}

// What remains to be divided, and among which workers.
struct Open {
  std::vector<std::size_t> workers;
  double total;

  [[nodiscard]] double share(std::span<const double> weights, std::size_t i, double weight_sum) const {
    return weight_sum > 0 ? total * (weights[i] / weight_sum) : total / static_cast<double>(workers.size());
  }
};

// The workers ordered by the fraction of their share, largest first; the earlier first among equals.
std::vector<std::size_t> by_fraction(std::span<const double> shares) {
  std::vector<double> fraction(shares.size());
  for (std::size_t i = 0; i < shares.size(); ++i) {
    fraction[i] = std::round((shares[i] - std::floor(shares[i])) * 0x1p32);
  }
  std::vector<std::size_t> order(shares.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return fraction[a] > fraction[b]; });
  return order;
}

}  // namespace

std::vector<double> proportional(std::span<const double> weights, std::uint64_t total,
                                 std::span<const Bound> bounds) {
  CHECK(!weights.empty() && (bounds.empty() || bounds.size() == weights.size()),
        "one bound per weight, or none");
  for (const double w : weights)
    require_sense(w >= 0 && std::isfinite(w), "a weight is negative or not finite");
  check_feasible(
      bounds.empty() ? std::vector<Bound>(weights.size()) : std::vector<Bound>(bounds.begin(), bounds.end()),
      total);

  std::vector<double> shares(weights.size());
  Open open{std::vector<std::size_t>(weights.size()), static_cast<double>(total)};
  std::iota(open.workers.begin(), open.workers.end(), std::size_t{0});
  while (!open.workers.empty()) {
    double weight_sum = 0, excess = 0;
    for (const std::size_t i : open.workers) weight_sum += weights[i];
    for (const std::size_t i : open.workers) {
      const double free = open.share(weights, i, weight_sum);
      shares[i] = clamped(free, bound_of(bounds, i));
      excess += shares[i] - free;
    }
    if (excess == 0) break;  // nothing was clamped, or both sides cancel out: the sum is right
    // If clamping gave too much, lambda can only fall, so workers at their minimum stay there; if too little,
    // the same holds for the maxima. One side is therefore final, and the rest is divided again.
    Open rest{{}, open.total};
    for (const std::size_t i : open.workers) {
      const double free = open.share(weights, i, weight_sum);
      const bool settled = excess > 0 ? shares[i] > free : shares[i] < free;
      if (settled) {
        rest.total = std::max(0.0, rest.total - shares[i]);
      } else {
        rest.workers.push_back(i);
      }
    }
    open = std::move(rest);
  }
  return shares;
}

std::vector<std::uint64_t> largest_remainder(std::span<const double> weights, std::uint64_t total,
                                             std::span<const Bound> bounds) {
  // Clamped shares are integers already, so rounding moves only those strictly inside their bounds.
  const std::vector<double> real = proportional(weights, total, bounds);
  std::vector<std::uint64_t> shares(real.size());
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < real.size(); ++i) {
    shares[i] = static_cast<std::uint64_t>(real[i]);
    sum += shares[i];
  }
  // Normally one pass; more, or the reverse loop, only if the floating-point error of huge rounds reaches
  // whole samples.
  const std::vector<std::size_t> order = by_fraction(real);
  while (sum < total) {
    for (std::size_t k = 0; k < order.size() && sum < total; ++k) {
      if (shares[order[k]] >= bound_of(bounds, order[k]).most) continue;
      ++shares[order[k]], ++sum;
    }
  }
  while (sum > total) {
    for (std::size_t k = order.size(); k-- > 0 && sum > total;) {
      if (shares[order[k]] <= bound_of(bounds, order[k]).least) continue;
      --shares[order[k]], --sum;
    }
  }
  return shares;
}

}  // namespace steelyard::balancing
