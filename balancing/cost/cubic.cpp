#include "balancing/cost/cubic.h"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "balancing/no_plan.h"

namespace steelyard::balancing {
namespace {

constexpr double most_fixed = 0.99;  // of the time, of a line that touches

double polynomial(const std::array<double, 4>& a, double b) {
  return a[0] + b * (a[1] + b * (a[2] + b * a[3]));
}

// Where the slope a1 + 2 a2 b + 3 a3 b^2 is zero; NaN, which no comparison accepts, where it never is.
std::array<double, 2> turning_points(const std::array<double, 4>& a) {
  if (a[3] == 0) return {-a[1] / (2 * a[2]), NAN};
  const double root = std::sqrt(a[2] * a[2] - 3 * a[3] * a[1]);
  return {(-a[2] - root) / (3 * a[3]), (-a[2] + root) / (3 * a[3])};
}

}  // namespace

// The highest point so far lies at an end or where the polynomial turns.
double Cubic::operator()(double samples) const {
  double highest = std::max({0.0, terms[0], polynomial(terms, samples)});
  for (const double turn : turning_points(terms)) {
    if (turn > 0 && turn < samples) highest = std::max(highest, polynomial(terms, turn));
  }
  return highest;
}

double Cubic::over(const Walk& walk, double samples) const {
  if (walk.batch > 0) {
    const auto batch = static_cast<double>(walk.batch);
    return static_cast<double>(walk.passes) * samples / batch * (*this)(batch);
  }
  const auto steps = static_cast<double>(walk.steps);
  return static_cast<double>(walk.passes) * steps * (*this)(samples / steps);
}

Affine Cubic::near(double samples, const Walk& walk) const {
  constexpr double reach = 0.05;  // of the samples, to both sides
  const double rise = over(walk, (1 + reach) * samples) - over(walk, (1 - reach) * samples);
  const double time = over(walk, samples);
  const double fixed = std::clamp(time - rise / (2 * reach), 0.0, most_fixed * time);
  return {fixed, (time - fixed) / samples};
}

Cubic Cubic::over_grains(std::uint64_t grain) const {
  Cubic scaled = *this;
  double factor = 1;
  for (double& term : scaled.terms) term *= std::exchange(factor, factor * static_cast<double>(grain));
  return scaled;
}

Cubic fit_cubic(std::span<const TimedBatch> batches) {
  std::vector<TimedBatch> good;
  std::set<double> sizes;
  double largest = 0;
  for (const TimedBatch& batch : batches) {
    const bool usable =
        batch.samples > 0 && batch.seconds > 0 && std::isfinite(batch.samples + batch.seconds);
    if (!usable) continue;
    good.push_back(batch);
    sizes.insert(batch.samples);
    largest = std::max(largest, batch.samples);
  }
  require_sense(!good.empty(), "no usable batch to fit a curve through");
  // One size leaves only the linear term; each further one pays for one more: constant, square, cube.
  static constexpr std::array<int, 4> powers{1, 0, 2, 3};
  const auto terms = static_cast<Eigen::Index>(std::min<std::size_t>(sizes.size(), powers.size()));
  const auto rows = static_cast<Eigen::Index>(good.size());
  Eigen::MatrixXd x(rows, terms);
  Eigen::VectorXd t(rows);
  // In units of the largest size, so that its cube does not drown the rest.
  for (Eigen::Index row = 0; row < rows; ++row) {
    for (Eigen::Index k = 0; k < terms; ++k) x(row, k) = std::pow(good[row].samples / largest, powers[k]);
    t(row) = good[row].seconds;
  }
  const Eigen::VectorXd solution = x.colPivHouseholderQr().solve(t);
  Cubic curve;
  for (Eigen::Index k = 0; k < terms; ++k) {
    curve.terms[powers[k]] = solution(k) / std::pow(largest, powers[k]);
  }
  return curve;
}

}  // namespace steelyard::balancing
