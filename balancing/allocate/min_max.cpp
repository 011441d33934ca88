#include "balancing/allocate/min_max.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "balancing/allocate/largest_remainder.h"
#include "core/check.h"

namespace steelyard::balancing {
namespace {

using Counts = std::vector<std::uint64_t>;

std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// The curves as the solver sees them.
class Times {
 public:
  virtual ~Times() = default;
  [[nodiscard]] virtual double at(std::size_t worker, std::uint64_t samples) const = 0;
  // For every worker the most samples of [low, high] that it finishes within t; low is granted unseen.
  [[nodiscard]] virtual Counts within(double t, const Counts& low, const Counts& high) const = 0;

 protected:
  // By halving [low, high]; asks at() some log2(high - low) times.
  [[nodiscard]] std::uint64_t search(std::size_t worker, double t, std::uint64_t low,
                                     std::uint64_t high) const {
    while (low < high) {
      const std::uint64_t middle = high - (high - low) / 2;
      if (at(worker, middle) <= t) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }
};

// Any curve: a search per worker and finishing time.
class AnyTimes final : public Times {
 public:
  explicit AnyTimes(std::span<const Curve> curves) : curves_(curves) {}
  [[nodiscard]] double at(std::size_t worker, std::uint64_t samples) const override {
    return curves_[worker](samples);
  }
  [[nodiscard]] Counts within(double t, const Counts& low, const Counts& high) const override {
    Counts counts(low.size());
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = search(i, t, low[i], high[i]);
    return counts;
  }

 private:
  std::span<const Curve> curves_;
};

// Affine curves: a division per worker and finishing time.
class AffineTimes final : public Times {
 public:
  explicit AffineTimes(std::span<const Affine> curves) : curves_(curves) {}
  [[nodiscard]] double at(std::size_t worker, std::uint64_t samples) const override {
    return curves_[worker](static_cast<double>(samples));
  }
  [[nodiscard]] Counts within(double t, const Counts& low, const Counts& high) const override {
    Counts counts(low.size());
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = one_within(i, t, low[i], high[i]);
    return counts;
  }

 private:
  // The formula may be off by a rounding; then, and only then, the curve itself is asked.
  [[nodiscard]] std::uint64_t one_within(std::size_t i, double t, std::uint64_t low,
                                         std::uint64_t high) const {
    const double room = (t - curves_[i].fixed) / curves_[i].per_sample;
    std::uint64_t guess = low;
    if (room >= static_cast<double>(high)) {
      guess = high;
    } else if (room > static_cast<double>(low)) {
      guess = static_cast<std::uint64_t>(room);
    }
    const bool too_many = guess > low && at(i, guess) > t;
    const bool too_few = guess < high && at(i, guess + 1) <= t;
    return too_many || too_few ? search(i, t, low, high) : guess;
  }

  std::span<const Affine> curves_;
};

// Two finishing times around the optimal one. All samples up to `low` belong to the answer, none beyond
// `high` does.
struct Bracket {
  double low_time, high_time;
  Counts low, high;
  std::uint64_t low_sum, high_sum;
};

// Moves one end of the bracket to t.
void narrow(Bracket& bracket, const Times& times, double t, std::uint64_t total) {
  Counts counts = times.within(t, bracket.low, bracket.high);
  const std::uint64_t count = sum(counts);
  if (count <= total) {
    bracket.low = std::move(counts), bracket.low_sum = count, bracket.low_time = t;
  } else {
    bracket.high = std::move(counts), bracket.high_sum = count, bracket.high_time = t;
  }
}

// The first bracket: an equal split is somebody's finishing time too late for some and too early for others.
Bracket first_bracket(const Times& times, std::span<const Bound> bounds, std::uint64_t total) {
  const std::vector<double> equal = proportional(std::vector<double>(bounds.size(), 1.0), total, bounds);
  double earliest = INFINITY, latest = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    const double time = times.at(i, static_cast<std::uint64_t>(std::ceil(equal[i])));
    CHECK(time >= 0, "a curve is negative or not a number");
    earliest = std::min(earliest, time);
    latest = std::max(latest, time);
  }
  // Nobody can get more than what the others' minima leave; this also keeps sums of `most` far from overflow.
  Counts least(bounds.size()), most(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) least[i] = bounds[i].least;
  const std::uint64_t least_sum = sum(least);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    most[i] = std::min(bounds[i].most, least[i] + (total - least_sum));
  }
  Bracket bracket{0, latest, least, times.within(latest, least, most), least_sum, 0};
  bracket.high_sum = sum(bracket.high);
  // Samples that take no time at all belong to the low end, whose time is 0.
  narrow(bracket, times, 0, total);
  if (earliest > 0 && earliest < bracket.high_time) narrow(bracket, times, earliest, total);
  return bracket;
}

// A time strictly inside the bracket; none if its ends are neighbours among the doubles. Interpolation is
// fast where the curves are smooth; halving the number of doubles left, by their bit patterns, ends after 64
// steps whatever the curves are. They take turns.
std::optional<double> between(const Bracket& bracket, std::uint64_t total, bool interpolate) {
  if (interpolate) {
    const double part = static_cast<double>(total - bracket.low_sum) /
                        static_cast<double>(bracket.high_sum - bracket.low_sum);
    const double t = bracket.low_time + (bracket.high_time - bracket.low_time) * part;
    if (t > bracket.low_time && t < bracket.high_time) return t;
  }
  const auto low = std::bit_cast<std::uint64_t>(bracket.low_time);
  const auto high = std::bit_cast<std::uint64_t>(bracket.high_time);
  if (high - low <= 1) return std::nullopt;
  return std::bit_cast<double>(low + (high - low) / 2);
}

// Hands out what is missing among the samples inside the bracket, soonest first.
Counts finish_by_order(Bracket bracket, const Times& times, std::uint64_t total) {
  std::vector<std::pair<double, std::size_t>> next;
  next.reserve(bracket.high_sum - bracket.low_sum);
  for (std::size_t i = 0; i < bracket.low.size(); ++i) {
    for (std::uint64_t b = bracket.low[i] + 1; b <= bracket.high[i]; ++b)
      next.emplace_back(times.at(i, b), i);
  }
  const auto missing = static_cast<std::ptrdiff_t>(total - bracket.low_sum);
  CHECK(missing <= std::ssize(next), "the bracket does not hold the optimum: a curve decreases");
  // Pairs compare by time, then by worker: the order in which the definition hands samples out.
  std::nth_element(next.begin(), next.begin() + missing, next.end());
  for (std::ptrdiff_t k = 0; k < missing; ++k) ++bracket.low[next[k].second];
  return std::move(bracket.low);
}

// The same where all samples inside finish at the same time: the earlier worker takes all it can.
Counts finish_by_slot(Bracket bracket, std::uint64_t total) {
  std::uint64_t missing = total - bracket.low_sum;
  for (std::size_t i = 0; i < bracket.low.size(); ++i) {
    const std::uint64_t taken = std::min(missing, bracket.high[i] - bracket.low[i]);
    bracket.low[i] += taken;
    missing -= taken;
  }
  CHECK(missing == 0, "the bracket does not hold the optimum: a curve decreases");
  return std::move(bracket.low);
}

// Narrow the bracket until few samples are left inside, then sort these out one by one.
Counts solve(const Times& times, std::span<const Bound> bounds, std::uint64_t total) {
  check_feasible(bounds, total);
  if (bounds.empty()) return {};
  // Handing out two samples per worker costs about as much as one more narrowing.
  const std::uint64_t few = std::max<std::uint64_t>(64, 2 * bounds.size());
  Bracket bracket = first_bracket(times, bounds, total);
  for (bool interpolate = true; bracket.low_sum < total; interpolate = !interpolate) {
    if (bracket.high_sum - bracket.low_sum <= few) return finish_by_order(std::move(bracket), times, total);
    const std::optional<double> t = between(bracket, total, interpolate);
    if (!t) return finish_by_slot(std::move(bracket), total);
    narrow(bracket, times, *t, total);
  }
  return std::move(bracket.low);
}

}  // namespace

std::vector<std::uint64_t> min_max(std::span<const Curve> curves, std::span<const Bound> bounds,
                                   std::uint64_t total) {
  CHECK(curves.size() == bounds.size(), "one bound per curve");
  return solve(AnyTimes(curves), bounds, total);
}

std::vector<std::uint64_t> min_max(std::span<const Affine> curves, std::span<const Bound> bounds,
                                   std::uint64_t total) {
  CHECK(curves.size() == bounds.size(), "one bound per curve");
  return solve(AffineTimes(curves), bounds, total);
}

}  // namespace steelyard::balancing
