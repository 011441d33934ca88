// The curve of one worker as it is now: a robust fit over its recent batches that also
// notices a lasting change.
//
// The fit ignores outliers, so it would also ignore the first half window after a worker has become slower.
// Hence the second rule: when `changed_after` batches in a row all lie clearly above the curve, or all below
// it, everything older is dropped. A single outlier changes nothing; a change is followed after three
// batches.
#pragma once

#include <cstddef>
#include <deque>

#include "balancing/cost/affine.h"

namespace steelyard::balancing {

class AffineWindow {
 public:
  static constexpr std::size_t capacity = 64;      // batches kept
  static constexpr std::size_t changed_after = 3;  // batches in a row
  static constexpr double change = 0.25;           // relative distance from the curve

  // False, and no change, for a batch that cannot be: no samples, no time, not finite.
  bool add(TimedBatch batch);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(batches_, curve_);
  }

  [[nodiscard]] bool empty() const { return batches_.empty(); }
  [[nodiscard]] const Affine& curve() const {
    return curve_;
  }  // of the batches added; {0, 0} before the first

 private:
  void refit();
  [[nodiscard]] bool changed() const;

  std::deque<TimedBatch> batches_;
  Affine curve_;
};

}  // namespace steelyard::balancing
