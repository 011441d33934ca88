#include "sim/recording.h"

#include <algorithm>

#include "core/text.h"

namespace steelyard::sim {
namespace {

constexpr std::size_t most_pairs_of = 400;  // limit of rounds used; longer recordings are sampled evenly
constexpr double least_spread = 1.25;       // of shares, largest over smallest, needed to estimate a fixed
                                            // cost
constexpr double spread_of_neighbours = 1.1;
constexpr std::size_t least_neighbours = 8;
constexpr double least_apart = 0.2;  // of a pair, relative to the pair furthest apart
constexpr std::size_t around = 4;    // rounds on either side that make a trend

// A round as a point of t / b = fixed (1 / b) + each, so that relative errors of small and large batches have
// equal weight.
struct Point {
  double inverse = 0, rate = 0;
};

std::vector<Point> points_of(std::span<const MeasuredTime> rounds) {
  const std::size_t stride = (rounds.size() + most_pairs_of - 1) / most_pairs_of;
  std::vector<Point> points;
  std::size_t seen = 0;
  for (const MeasuredTime& round : rounds) {
    if (round.samples > 0 && seen++ % stride == 0)
      points.push_back({1 / round.samples, round.ms / round.samples});
  }
  return points;
}

// A policy gives a worker less while it is slow, so over the whole run all shares seem to take equally long.
// Between successive rounds the speed is usually unchanged, and only the share differs.
std::vector<double> fixed_by_neighbours(std::span<const MeasuredTime> rounds) {
  std::vector<double> fixed;
  for (std::size_t i = 1; i < rounds.size(); ++i) {
    const MeasuredTime &a = rounds[i - 1], &b = rounds[i];
    const auto [less, more] = std::minmax(a.samples, b.samples);
    if (less == 0 || more < spread_of_neighbours * less) continue;
    fixed.push_back((a.ms * b.samples - b.ms * a.samples) / (b.samples - a.samples));
  }
  return fixed;
}

// The median of the slopes of all pairs that are far enough apart (Theil 1950, Sen 1968).
double fixed_cost(const std::vector<Point>& points) {
  const auto [least, most] = std::ranges::minmax(points, {}, &Point::inverse);
  if (most.inverse < least_spread * least.inverse) return 0;
  const double apart = least_apart * (most.inverse - least.inverse);
  std::vector<double> slopes;
  for (const Point& a : points) {
    for (const Point& b : points) {
      if (b.inverse - a.inverse >= apart) slopes.push_back((b.rate - a.rate) / (b.inverse - a.inverse));
    }
  }
  return std::max(0.0, median(slopes));
}

}  // namespace

std::vector<double> fitted_line(std::span<const MeasuredTime> rounds) {
  const std::vector<Point> points = points_of(rounds);
  const auto rates = [&](double fixed) {
    std::vector<double> left;
    for (const Point& point : points) left.push_back(point.rate - fixed * point.inverse);
    return median(left);
  };
  const std::vector<double> neighbours = fixed_by_neighbours(rounds);
  const double fixed =
      neighbours.size() < least_neighbours ? fixed_cost(points) : std::max(0.0, median(neighbours));
  // Rejects a fixed cost that leaves no time for the samples.
  const double each = rates(fixed);
  return each > 0 ? std::vector{fixed, each} : std::vector{0.0, rates(0)};
}

Recording recording_of(std::span<const MeasuredTime> rounds, std::span<const double> line) {
  Recording recording;
  const auto factor = [&](const MeasuredTime& round) { return round.ms / polynomial(line, round.samples); };
  double last = factor(*std::ranges::find_if(rounds, [](const auto& round) { return round.samples > 0; }));
  for (const MeasuredTime& round : rounds) {
    if (round.samples > 0) last = factor(round);
    recording.factors.push_back(last);
  }
  const auto& factors = recording.factors;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    const auto first = factors.begin() + static_cast<std::ptrdiff_t>(i - std::min(i, around));
    const auto end = factors.begin() + static_cast<std::ptrdiff_t>(std::min(i + around + 1, factors.size()));
    recording.trends.push_back(median({first, end}));
  }
  return recording;
}

}  // namespace steelyard::sim
