#include "balancing/cost/curves.h"

#include <Eigen/QR>
#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "balancing/no_plan.h"
#include "core/check.h"
#include "core/text.h"

namespace steelyard::balancing {
namespace {

constexpr double clock_noise = 0.002;  // no measurement is better than this, relative
constexpr double fixed_prior = 0.2;    // relative to the mean time: a fixed cost is usually of this order
constexpr double least_window_slope = 0.001;  // of the mean time per sample
constexpr int huber_steps = 4, tukey_steps = 4;

bool usable(const TimedBatch& batch) {
  return batch.samples > 0 && batch.seconds > 0 && std::isfinite(batch.samples + batch.seconds);
}

// Weights by the distance from the curve in standard deviations. Huber's function is convex, so it converges
// from a bad start; Tukey's ignores outliers altogether, but needs a close start. The usual constants: they
// lose 5 % against least squares if all noise is normal.
double huber(double z) { return z <= 1.345 ? 1.0 : 1.345 / z; }

double tukey(double z) {
  if (z >= 4.685) return 0;
  const double u = z / 4.685;
  return (1 - u * u) * (1 - u * u);
}

struct Sums {
  double w = 0, b = 0, t = 0, bb = 0,
         bt = 0;  // sums of weights, and of weight times samples, seconds and products
};

Sums weighted_sums(const std::vector<TimedBatch>& batches, const std::vector<double>& weights) {
  Sums s;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    const double w = weights[i], b = batches[i].samples, t = batches[i].seconds;
    s.w += w, s.b += w * b, s.t += w * t, s.bb += w * b * b, s.bt += w * b * t;
  }
  return s;
}

// Weighted least squares under fixed >= 0 and per_sample > 0; noise is in seconds.
Affine solve(const Sums& s, double noise) {
  const double mean_time = s.t / s.w;
  // The extra observation (0 samples, 0 seconds) adds only to the sum of the weights.
  const double extra = std::pow(noise / (fixed_prior * mean_time), 2);
  const double w = s.w + extra;
  const double slope = (w * s.bt - s.b * s.t) / (w * s.bb - s.b * s.b);
  // Flat measurements mean that nearly all of the time is fixed; the curve must still rise.
  const double flattest = least_window_slope * s.t / s.b;
  const double per_sample = std::max(slope, flattest);
  const double fixed = (s.t - per_sample * s.b) / (per_sample > slope ? s.w : w);
  if (fixed >= 0) return {fixed, per_sample};
  // A negative fixed cost is noise: uses the best line through the origin instead.
  return {0, s.bt / s.bb};
}

// Sizes with a smaller relative variance count as one size: the slope would be rounding noise.
constexpr double one_size = 1e-6;

constexpr double most_fixed = 0.99;  // share of the time, in a tangent

double polynomial(const std::array<double, 4>& a, double b) {
  return a[0] + b * (a[1] + b * (a[2] + b * a[3]));
}

// Zeros of the slope a1 + 2 a2 b + 3 a3 b^2; NaN, which fails every comparison, if none exist.
std::array<double, 2> turning_points(const std::array<double, 4>& a) {
  if (a[3] == 0) return {-a[1] / (2 * a[2]), NAN};
  const double root = std::sqrt(a[2] * a[2] - 3 * a[3] * a[1]);
  return {(-a[2] - root) / (3 * a[3]), (-a[2] + root) / (3 * a[3])};
}

}  // namespace

Affine fit_affine(std::span<const TimedBatch> batches) {
  std::vector<TimedBatch> good;
  std::copy_if(batches.begin(), batches.end(), std::back_inserter(good), usable);
  require_sense(!good.empty(), "no usable batch to fit a curve through");

  std::vector<double> times, weights(good.size(), 1.0), residuals(good.size());
  for (const TimedBatch& batch : good) times.push_back(batch.seconds);
  const double least_noise = clock_noise * median(times);

  double noise = least_noise;
  Affine curve = solve(weighted_sums(good, weights), noise);
  if (good.size() < 3) return curve;  // two points have no residuals that reveal an outlier
  for (int step = 0; step < huber_steps + tukey_steps; ++step) {
    for (std::size_t i = 0; i < good.size(); ++i) {
      residuals[i] = std::abs(good[i].seconds - curve(good[i].samples));
    }
    // 1.4826: from the median of absolute values to a standard deviation, for normal noise.
    noise = std::max(least_noise, 1.4826 * median(residuals));
    const auto weigh = step < huber_steps ? huber : tukey;
    for (std::size_t i = 0; i < good.size(); ++i) weights[i] = weigh(residuals[i] / noise);
    curve = solve(weighted_sums(good, weights), noise);
  }
  return curve;
}

bool AffineWindow::add(TimedBatch batch) {
  if (!usable(batch)) return false;
  batches_.push_back(batch);
  if (batches_.size() > capacity) batches_.pop_front();
  refit();
  if (changed()) {
    // The old speed does not predict the new one: restarts the fit from the newest batches.
    batches_.erase(batches_.begin(), batches_.end() - changed_after);
    refit();
  }
  return true;
}

void AffineWindow::refit() {
  std::array<TimedBatch, capacity> flat;
  std::copy(batches_.begin(), batches_.end(), flat.begin());
  curve_ = fit_affine(std::span(flat).first(batches_.size()));
}

bool AffineWindow::changed() const {
  if (batches_.size() <= changed_after) return false;
  // The curve already includes these batches, so anything that a line can explain, such as a new batch size,
  // does not count as a change.
  std::size_t above = 0, below = 0;
  for (auto batch = batches_.end() - changed_after; batch != batches_.end(); ++batch) {
    const double ratio = batch->seconds / curve_(batch->samples);
    above += ratio > 1 + change;
    below += ratio < 1 / (1 + change);
  }
  return above == changed_after || below == changed_after;
}

void ForgettingLine::add(TimedBatch batch) {
  weight_ = lambda_ * weight_ + 1;
  b_ = lambda_ * b_ + batch.samples;
  t_ = lambda_ * t_ + batch.seconds;
  bb_ = lambda_ * bb_ + batch.samples * batch.samples;
  bt_ = lambda_ * bt_ + batch.samples * batch.seconds;
}

Affine ForgettingLine::curve() const {
  if (empty()) return {};
  const Affine through_origin{0, bt_ / bb_};
  const double variance = weight_ * bb_ - b_ * b_;
  if (variance < one_size * b_ * b_) return through_origin;
  const double slope = (weight_ * bt_ - b_ * t_) / variance;
  const double fixed = (t_ - slope * b_) / weight_;
  return slope > 0 && fixed >= 0 ? Affine{fixed, slope} : through_origin;
}

// The highest point so far is at an end or at a turning point.
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
  constexpr double reach = 0.05;  // relative, to both sides
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
    if (!usable(batch)) continue;
    good.push_back(batch);
    sizes.insert(batch.samples);
    largest = std::max(largest, batch.samples);
  }
  require_sense(!good.empty(), "no usable batch to fit a curve through");
  // One size allows only the linear term; each further size allows one more: constant, square, cube.
  static constexpr std::array<int, 4> powers{1, 0, 2, 3};
  const auto terms = static_cast<Eigen::Index>(std::min<std::size_t>(sizes.size(), powers.size()));
  const auto rows = static_cast<Eigen::Index>(good.size());
  Eigen::MatrixXd x(rows, terms);
  Eigen::VectorXd t(rows);
  // In units of the largest size, so that the cubes do not dominate.
  for (Eigen::Index row = 0; row < rows; ++row) {
    const auto& [samples, seconds] = good[row];
    for (Eigen::Index k = 0; k < terms; ++k) x(row, k) = std::pow(samples / largest, powers[k]) / seconds;
    t(row) = 1;
  }
  const Eigen::VectorXd solution = x.colPivHouseholderQr().solve(t);
  Cubic curve;
  for (Eigen::Index k = 0; k < terms; ++k) {
    curve.terms[powers[k]] = solution(k) / std::pow(largest, powers[k]);
  }
  return curve;
}

Profile::Profile(const std::vector<Line>& lines) {
  for (const auto& [name, curve] : lines) {
    for (std::size_t k = 0; k < mean_.terms.size(); ++k) {
      mean_.terms[k] += curve.terms[k] / static_cast<double>(lines.size());
    }
    if (name.empty()) {
      by_slot_.push_back(curve);
    } else {
      by_name_[name] = curve;
    }
  }
}

const Cubic& Profile::of(const std::string& name, std::uint32_t slot) const {
  CHECK(!empty(), "an empty profile has no curve");
  const auto named = by_name_.find(name);
  if (named != by_name_.end()) return named->second;
  return slot < by_slot_.size() ? by_slot_[slot] : mean_;
}

}  // namespace steelyard::balancing
