#include "sim/batch_time.h"

#include <algorithm>

#include "balancing/cost/curves.h"
#include "core/check.h"
#include "core/text.h"

namespace steelyard::sim {

std::size_t SpeedTrace::step_at(double time_s) const {
  const auto above = std::ranges::upper_bound(at_s, time_s);
  return above == at_s.begin() ? 0 : static_cast<std::size_t>(above - at_s.begin()) - 1;
}

double SpeedTrace::took_s(double begun_s, double work_s) const {
  if (empty()) return work_s;
  double now = begun_s;
  for (std::size_t step = step_at(begun_s);; ++step) {
    const bool last = step + 1 == at_s.size();
    if (last || work_s <= (at_s[step + 1] - now) * levels[step]) return now - begun_s + work_s / levels[step];
    work_s -= (at_s[step + 1] - now) * levels[step];
    now = at_s[step + 1];
  }
}

double SpeedTrace::mean(double from_s, double to_s) const {
  if (empty()) return 1;
  if (to_s <= from_s) return levels[step_at(from_s)];
  double area = 0, now = from_s;
  for (std::size_t step = step_at(from_s); now < to_s; ++step) {
    const double until = step + 1 == at_s.size() ? to_s : std::min(to_s, at_s[step + 1]);
    area += (until - now) * levels[step];
    now = until;
  }
  return area / (to_s - from_s);
}

namespace {

constexpr int line_points = 33;  // at which a curve is sampled to find the line through it

// The slope from the first point to the last: pairs of neighbours are noisier.
double overall_slope(std::span<const MeasuredTime> curve) {
  const MeasuredTime &first = curve.front(), &last = curve.back();
  if (last.samples == first.samples) return first.ms / first.samples;
  return (last.ms - first.ms) / (last.samples - first.samples);
}

double between(const MeasuredTime& a, const MeasuredTime& b, double samples) {
  return a.ms + (b.ms - a.ms) * (samples - a.samples) / (b.samples - a.samples);
}

// Falling neighbours are pooled until none are left ("pool adjacent violators").
void never_fall(std::vector<MeasuredTime>& curve) {
  struct Pool {
    double sum = 0;
    std::size_t count = 0;
    [[nodiscard]] double mean() const { return sum / static_cast<double>(count); }
  };
  std::vector<Pool> pools;
  for (const MeasuredTime& point : curve) {
    pools.push_back({point.ms, 1});
    while (pools.size() > 1 && pools.back().mean() < pools[pools.size() - 2].mean()) {
      const Pool last = pools.back();
      pools.pop_back();
      pools.back().sum += last.sum;
      pools.back().count += last.count;
    }
  }
  auto point = curve.begin();
  for (const Pool& pool : pools) {
    for (std::size_t i = 0; i < pool.count; ++i) (point++)->ms = pool.mean();
  }
}

std::vector<double> slope_of(std::span<const double> coefficients) {
  std::vector<double> slope;
  for (std::size_t power = 1; power < coefficients.size(); ++power)
    slope.push_back(coefficients[power] * static_cast<double>(power));
  return slope;
}

// Zeros of the polynomial between `begin` and `end`: it has at most one between two zeros of its slope.
std::vector<double> zeros(const std::vector<double>& coefficients, double begin, double end) {
  if (coefficients.size() < 2) return {};
  std::vector<double> borders = zeros(slope_of(coefficients), begin, end), found;
  borders.push_back(end);
  for (const double border : borders) {
    const bool below = polynomial(coefficients, begin) < 0;
    double low = begin, high = border;
    begin = border;
    if (below == (polynomial(coefficients, border) < 0)) continue;
    for (int halving = 0; halving < 60; ++halving) {
      const double middle = (low + high) / 2;
      ((polynomial(coefficients, middle) < 0) == below ? low : high) = middle;
    }
    found.push_back(high);
  }
  return found;
}

}  // namespace

double polynomial(std::span<const double> coefficients, double x) {
  double value = 0;
  for (std::size_t power = coefficients.size(); power-- > 0;) value = value * x + coefficients[power];
  return value;
}

double held_polynomial(std::span<const double> coefficients, double x) {
  balancing::Cubic cubic;
  if (coefficients.size() > cubic.terms.size()) {
    double highest = polynomial(coefficients, x);
    for (const double turn : zeros(slope_of(coefficients), 0, x))
      highest = std::max(highest, polynomial(coefficients, turn));
    return highest;
  }
  std::ranges::copy(coefficients, cubic.terms.begin());
  return cubic(x);
}

std::vector<MeasuredTime> as_curve(std::vector<MeasuredTime> measured) {
  std::ranges::stable_sort(measured, {}, &MeasuredTime::samples);
  std::vector<MeasuredTime> curve;
  for (auto it = measured.begin(); it != measured.end();) {
    std::vector<double> times;
    const double samples = it->samples;
    for (; it != measured.end() && it->samples == samples; ++it) times.push_back(it->ms);
    curve.push_back({samples, median(times)});
  }
  never_fall(curve);
  return curve;
}

double on_curve(std::span<const MeasuredTime> curve, double samples) {
  CHECK(!curve.empty(), "a curve has points");
  const MeasuredTime &first = curve.front(), &last = curve.back();
  if (samples >= last.samples) return last.ms + overall_slope(curve) * (samples - last.samples);
  if (samples <= first.samples) {
    const double proportional = first.ms * samples / first.samples;
    return curve.size() == 1 ? proportional : std::max(between(first, curve[1], samples), proportional);
  }
  const auto above = std::ranges::upper_bound(curve, samples, {}, &MeasuredTime::samples);
  return between(*std::prev(above), *above, samples);
}

std::vector<double> line_through(const std::function<double(double)>& curve_ms, std::uint64_t most) {
  const double stride = static_cast<double>(most - 1) / (line_points - 1);
  double mean_x = 0, mean_y = 0, xy = 0, xx = 0;
  for (int pass = 0; pass < 2; ++pass) {  // first the means, then what is around them
    for (int i = 0; i < line_points; ++i) {
      const double x = 1 + i * stride, y = curve_ms(x);
      if (pass == 0) {
        mean_x += x / line_points;
        mean_y += y / line_points;
      } else {
        xy += (x - mean_x) * (y - mean_y);
        xx += (x - mean_x) * (x - mean_x);
      }
    }
  }
  const double slope = xx > 0 ? xy / xx : 0;
  return {std::max(0.0, mean_y - slope * mean_x), slope};
}

}  // namespace steelyard::sim
