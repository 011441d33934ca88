#include "balancing/allocate/min_max.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "balancing/allocate/largest_remainder.h"
#include "balancing/no_plan.h"
#include "core/check.h"

namespace steelyard::balancing {
namespace {

using Counts = std::vector<std::uint64_t>;

std::uint64_t sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

// The solver's view of the curves.
class Times {
 public:
  virtual ~Times() = default;
  [[nodiscard]] virtual double at(std::size_t worker, std::uint64_t samples) const = 0;
  // For every worker, the most samples in [low, high] that it finishes within t; low is granted without a
  // check. `counts` contains guesses: good ones save time, but they never affect the result.
  virtual void within(double t, const Counts& low, const Counts& high, Counts& counts) const = 0;
  [[nodiscard]] virtual bool wants_guesses() const = 0;

 protected:
  // NaN has no order, so sorting it may run out of bounds.
  static double sound(double seconds) {
    require_sense(seconds >= 0, "a curve is negative or not a number");
    return seconds;
  }
  // Outwards from the guess in doubling steps, then by bisection.
  [[nodiscard]] std::uint64_t search(std::size_t worker, double t, std::uint64_t low, std::uint64_t high,
                                     std::uint64_t guess) const {
    guess = std::clamp(guess, low, high);
    if (guess == low || at(worker, guess) <= t) {
      low = guess;
      for (std::uint64_t step = 1; low < high; step *= 2) {
        const std::uint64_t further = low + std::min(step, high - low);
        if (at(worker, further) > t) {
          high = further - 1;
          break;
        }
        low = further;
      }
    } else {
      high = guess - 1;
      for (std::uint64_t step = 1; low < high; step *= 2) {
        const std::uint64_t nearer = high - std::min(step - 1, high - low);
        if (nearer == low || at(worker, nearer) <= t) {
          low = nearer;
          break;
        }
        high = nearer - 1;
      }
    }
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
    return sound(curves_[worker](samples));
  }
  void within(double t, const Counts& low, const Counts& high, Counts& counts) const override {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = search(i, t, low[i], high[i], counts[i]);
  }
  [[nodiscard]] bool wants_guesses() const override { return true; }

 private:
  std::span<const Curve> curves_;
};

// Affine curves: a division per worker and finishing time.
class AffineTimes final : public Times {
 public:
  explicit AffineTimes(std::span<const Affine> curves) : curves_(curves) {}
  [[nodiscard]] double at(std::size_t worker, std::uint64_t samples) const override {
    return sound(curves_[worker](static_cast<double>(samples)));
  }
  void within(double t, const Counts& low, const Counts& high, Counts& counts) const override {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = one_within(i, t, low[i], high[i]);
  }
  [[nodiscard]] bool wants_guesses() const override { return false; }

 private:
  // The formula may be off by a rounding error; only then is the curve itself evaluated.
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
    return too_many || too_few ? search(i, t, low, high, guess) : guess;
  }

  std::span<const Affine> curves_;
};

// Two finishing times around the optimal one. All samples up to `low` belong to the answer, none beyond
// `high` does.
struct Bracket {
  double low_time, high_time;
  Counts low, high;
  std::uint64_t low_sum, high_sum;
  Counts spare;                            // memory and guesses for the next counts
  double low_weight = 1, high_weight = 1;  // of the two ends in the interpolation
  std::optional<bool> low_was_last{};      // which end moved last; empty at first
};

// Moves one end of the bracket to t; `spare` contains the guesses. An end that stays for the second time gets
// half its weight in the interpolation, since the other end would otherwise approach from one side only (the
// Illinois rule).
void move_end(Bracket& bracket, const Times& times, double t, std::uint64_t total) {
  times.within(t, bracket.low, bracket.high, bracket.spare);
  const std::uint64_t count = sum(bracket.spare);
  const bool low = count <= total;
  std::swap(low ? bracket.low : bracket.high, bracket.spare);
  (low ? bracket.low_sum : bracket.high_sum) = count;
  (low ? bracket.low_time : bracket.high_time) = t;
  (low ? bracket.low_weight : bracket.high_weight) = 1;
  if (bracket.low_was_last == low) (low ? bracket.high_weight : bracket.low_weight) /= 2;
  bracket.low_was_last = low;
}

// The same, with guesses between the ends.
void narrow(Bracket& bracket, const Times& times, double t, std::uint64_t total) {
  if (times.wants_guesses()) {
    const double part = (t - bracket.low_time) / (bracket.high_time - bracket.low_time);
    for (std::size_t i = 0; i < bracket.low.size(); ++i) {
      const auto width = static_cast<double>(bracket.high[i] - bracket.low[i]);
      bracket.spare[i] = bracket.low[i] + static_cast<std::uint64_t>(part * width);
    }
  }
  move_end(bracket, times, t, total);
}

// The first bracket. At any finishing time of an equal split, some workers could do more and some less.
Bracket first_bracket(const Times& times, std::span<const Bound> bounds, std::uint64_t total) {
  const std::vector<double> equal = proportional(std::vector<double>(bounds.size(), 1.0), total, bounds);
  std::vector<double> taken(bounds.size());
  double earliest = INFINITY, latest = 0;
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    taken[i] = times.at(i, static_cast<std::uint64_t>(std::ceil(equal[i])));
    earliest = std::min(earliest, taken[i]);
    latest = std::max(latest, taken[i]);
  }
  // No worker can get more than the others' minima leave; this also keeps sums of `most` from overflowing.
  Counts least(bounds.size()), most(bounds.size());
  for (std::size_t i = 0; i < bounds.size(); ++i) least[i] = bounds[i].least;
  const std::uint64_t least_sum = sum(least);
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    most[i] = std::min(bounds[i].most, least[i] + (total - least_sum));
  }
  // Assumes times in proportion to samples.
  const auto guesses = [&](double t) {
    Counts counts = least;
    for (std::size_t i = 0; times.wants_guesses() && i < counts.size(); ++i) {
      const double guess = taken[i] > 0 ? equal[i] * (t / taken[i]) : 0;
      counts[i] = guess < static_cast<double>(most[i]) ? static_cast<std::uint64_t>(guess) : most[i];
    }
    return counts;
  };
  Counts high = guesses(latest);
  times.within(latest, least, most, high);
  Bracket bracket{0, latest, least, std::move(high), least_sum, 0, least};
  bracket.high_sum = sum(bracket.high);
  // Samples that take no time belong to the low end (time 0).
  move_end(bracket, times, 0, total);
  if (earliest > 0 && earliest < bracket.high_time) {
    bracket.spare = guesses(earliest);
    move_end(bracket, times, earliest, total);
  }
  bracket.low_weight = bracket.high_weight = 1, bracket.low_was_last.reset();
  return bracket;
}

// A time strictly inside the bracket; std::nullopt if its ends are adjacent doubles. Interpolation is fast
// for smooth curves; bisecting the bit patterns ends after 64 steps for any curve. Every third step bisects.
std::optional<double> between(const Bracket& bracket, std::uint64_t total, bool interpolate) {
  if (interpolate) {
    const double missing = bracket.low_weight * static_cast<double>(total - bracket.low_sum);
    const double beyond = bracket.high_weight * static_cast<double>(bracket.high_sum - total);
    const double part = missing / (missing + beyond);
    const double t = bracket.low_time + (bracket.high_time - bracket.low_time) * part;
    if (t > bracket.low_time && t < bracket.high_time) return t;
  }
  const auto low = std::bit_cast<std::uint64_t>(bracket.low_time);
  const auto high = std::bit_cast<std::uint64_t>(bracket.high_time);
  if (high - low <= 1) return std::nullopt;
  return std::bit_cast<double>(low + (high - low) / 2);
}

// Hands out the missing samples inside the bracket, soonest first.
Counts finish_by_order(Bracket bracket, const Times& times, std::uint64_t total) {
  std::vector<std::pair<double, std::size_t>> next;
  next.reserve(bracket.high_sum - bracket.low_sum);
  for (std::size_t i = 0; i < bracket.low.size(); ++i) {
    for (std::uint64_t b = bracket.low[i] + 1; b <= bracket.high[i]; ++b)
      next.emplace_back(times.at(i, b), i);
  }
  const auto missing = static_cast<std::ptrdiff_t>(total - bracket.low_sum);
  require_sense(missing <= std::ssize(next), "a curve decreases");
  // Pairs compare by time, then by worker: the order in which the definition hands out samples.
  std::nth_element(next.begin(), next.begin() + missing, next.end());
  for (std::ptrdiff_t k = 0; k < missing; ++k) ++bracket.low[next[k].second];
  return std::move(bracket.low);
}

// For the case that all samples inside finish at the same time: the earlier worker takes all it can.
Counts finish_by_slot(Bracket bracket, std::uint64_t total) {
  std::uint64_t missing = total - bracket.low_sum;
  for (std::size_t i = 0; i < bracket.low.size(); ++i) {
    const std::uint64_t taken = std::min(missing, bracket.high[i] - bracket.low[i]);
    bracket.low[i] += taken;
    missing -= taken;
  }
  require_sense(missing == 0, "a curve decreases");
  return std::move(bracket.low);
}

// Narrows the bracket until few samples are left inside, then sorts these.
Counts solve(const Times& times, std::span<const Bound> bounds, std::uint64_t total) {
  check_feasible(bounds, total);
  if (bounds.empty()) return {};
  // Handing out a sample costs about as much as four narrowing steps.
  const std::uint64_t few = std::max<std::uint64_t>(64, bounds.size() / 4);
  Bracket bracket = first_bracket(times, bounds, total);
  for (unsigned step = 1; bracket.low_sum < total; ++step) {
    if (bracket.high_sum - bracket.low_sum <= few) return finish_by_order(std::move(bracket), times, total);
    const std::optional<double> t = between(bracket, total, step % 3 != 0);
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
