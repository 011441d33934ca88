#include "core/interval.h"

#include <algorithm>

#include "core/check.h"

namespace steelyard {
namespace {

// The first interval that ends after `position`: the only one that can contain it.
auto first_ending_after(const std::vector<Interval>& intervals, Position position) {
  return std::upper_bound(intervals.begin(), intervals.end(), position,
                          [](Position p, const Interval& i) { return p < i.end; });
}

}  // namespace

bool IntervalSet::add_if_absent(Interval interval) {
  if (overlaps(interval)) return false;
  add(interval);
  return true;
}

void IntervalSet::add(Interval interval) {
  CHECK(interval.valid(), "an interval ends before it begins");
  if (interval.empty()) return;
  // Merges the new interval with all that overlap or touch it.
  auto first = std::lower_bound(intervals_.begin(), intervals_.end(), interval.begin,
                                [](const Interval& i, Position p) { return i.end < p; });
  auto last = first;
  for (; last != intervals_.end() && last->begin <= interval.end; ++last) {
    interval.begin = std::min(interval.begin, last->begin);
    interval.end = std::max(interval.end, last->end);
    count_ -= last->size();
  }
  count_ += interval.size();
  if (first == last) {
    intervals_.insert(first, interval);
  } else {
    *first = interval;
    intervals_.erase(first + 1, last);
  }
}

bool IntervalSet::contains(Interval interval) const {
  if (interval.empty()) return true;
  const auto it = first_ending_after(intervals_, interval.begin);
  return it != intervals_.end() && it->contains(interval);
}

bool IntervalSet::overlaps(Interval interval) const {
  if (interval.empty()) return false;
  const auto it = first_ending_after(intervals_, interval.begin);
  return it != intervals_.end() && it->overlaps(interval);
}

std::vector<Interval> IntervalSet::gaps(Interval whole, std::size_t most) const {
  std::vector<Interval> found;
  Position from = whole.begin;
  for (auto it = first_ending_after(intervals_, whole.begin); from < whole.end && found.size() < most; ++it) {
    const Position until = it == intervals_.end() ? whole.end : std::min(it->begin, whole.end);
    if (from < until) found.push_back({from, until});
    if (it == intervals_.end()) break;
    from = it->end;
  }
  return found;
}

void IntervalSet::clear() {
  intervals_.clear();
  count_ = 0;
}

}  // namespace steelyard
