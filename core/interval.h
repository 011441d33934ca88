// Half-open intervals of positions, and sets of them. Used to track which pieces are outstanding and which
// positions are covered.
#pragma once

#include <cstdint>
#include <vector>

namespace steelyard {

using Position = std::uint64_t;

struct Interval {
  Position begin = 0;
  Position end = 0;

  [[nodiscard]] constexpr std::uint64_t size() const { return end - begin; }
  [[nodiscard]] constexpr bool empty() const { return begin == end; }
  [[nodiscard]] constexpr bool valid() const { return begin <= end; }
  [[nodiscard]] constexpr bool contains(Interval other) const {
    return begin <= other.begin && other.end <= end;
  }
  [[nodiscard]] constexpr bool overlaps(Interval other) const {
    return begin < other.end && other.begin < end;
  }
  friend constexpr auto operator<=>(const Interval&, const Interval&) = default;
};

// A set of positions as sorted, disjoint, non-touching intervals.
class IntervalSet {
 public:
  // Adds the interval if it does not overlap the set. Returns false, and changes nothing, otherwise.
  bool add_if_absent(Interval interval);
  // Adds the interval; parts of it may be in the set already.
  void add(Interval interval);

  [[nodiscard]] bool contains(Interval interval) const;
  [[nodiscard]] bool overlaps(Interval interval) const;
  [[nodiscard]] std::uint64_t count() const { return count_; }  // positions in the set
  [[nodiscard]] const std::vector<Interval>& intervals() const { return intervals_; }
  // The parts of `whole` that are not in the set, in order, at most `most` of them.
  [[nodiscard]] std::vector<Interval> gaps(Interval whole, std::size_t most = SIZE_MAX) const;
  void clear();

  friend bool operator==(const IntervalSet&, const IntervalSet&) = default;

 private:
  std::vector<Interval> intervals_;
  std::uint64_t count_ = 0;
};

}  // namespace steelyard
