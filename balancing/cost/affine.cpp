#include "balancing/cost/affine.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "balancing/no_plan.h"
#include "core/stats.h"

namespace steelyard::balancing {
namespace {

constexpr double clock_noise = 0.002;  // no measurement is better than this, relative
constexpr double fixed_prior = 0.2;    // a fixed cost is usually of this order, relative to the mean time
constexpr double least_window_slope = 0.001;  // of the mean time per sample
constexpr int huber_steps = 4, tukey_steps = 4;

bool usable(const TimedBatch& batch) {
  return batch.samples > 0 && batch.seconds > 0 && std::isfinite(batch.samples) &&
         std::isfinite(batch.seconds);
}

// Weights by the distance from the curve in standard deviations. Huber's function is convex, so it finds its
// way from a bad start; Tukey's forgets outliers altogether, but has to start close. The constants are the
// usual ones, which lose 5 % against least squares where all noise is normal.
double huber(double z) { return z <= 1.345 ? 1.0 : 1.345 / z; }

double tukey(double z) {
  if (z >= 4.685) return 0;
  const double u = z / 4.685;
  return (1 - u * u) * (1 - u * u);
}

struct Sums {
  double w = 0, b = 0, t = 0, bb = 0,
         bt = 0;  // of the weights, and of weight times samples, seconds and products
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
  // The extra observation (0 samples, 0 seconds) only adds to the sum of the weights.
  const double extra = std::pow(noise / (fixed_prior * mean_time), 2);
  const double w = s.w + extra;
  const double slope = (w * s.bt - s.b * s.t) / (w * s.bb - s.b * s.b);
  // Flat measurements mean that nearly all of the time is fixed; the curve still has to rise.
  const double flattest = least_window_slope * s.t / s.b;
  const double per_sample = std::max(slope, flattest);
  const double fixed = (s.t - per_sample * s.b) / (per_sample > slope ? s.w : w);
  if (fixed >= 0) return {fixed, per_sample};
  // A negative fixed cost is noise: the best line through the origin instead.
  return {0, s.bt / s.bb};
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
  if (good.size() < 3) return curve;  // two points have no residuals to tell an outlier by
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

}  // namespace steelyard::balancing
