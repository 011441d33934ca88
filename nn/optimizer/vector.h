// What servers and workers do to whole slices besides the update rules. Any alignment and length, one thread.
//
// Each result is a function of the numbers and the processor's level only. (To copy a slice, use std::memcpy:
// it was measured to be as fast as anything we could write.)
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/layout.h"
#include "core/processor.h"

namespace steelyard::nn {

// into[i] += x[i]. Equally long.
void add(std::span<float> into, std::span<const float> x, Level level = cpu_level());

// into[i] = x[i] + y[i]. Equally long, in three different buffers.
void sum(std::span<float> into, std::span<const float> x, std::span<const float> y,
         Level level = cpu_level());

// Whether no element is infinite or NaN. Exact; the whole slice is read, for almost always there is none.
bool all_finite(std::span<const float> x, Level level = cpu_level());

// A sum of squares that is given slice by slice. Where the slices were cut changes no bit of it.
class SquareSum {
 public:
  explicit SquareSum(Level level = cpu_level()) : level_(level) {}
  void add(std::span<const float> x);
  [[nodiscard]] double total() const;

 private:
  Level level_;
  std::array<double, 32> chains_{};
  std::size_t size_ = 0;  // so far
};

// Summed in double in a fixed order, so no float overflows; relative error below 1e-12 for
// slices of any usual size.
double sum_of_squares(std::span<const float> x, Level level = cpu_level());

// What gradient / weight has to be multiplied with so that its norm is at most `longest`: 1 or less. 0: no
// limit. Ranges that are not stepped hold no gradient and do not count.
double clipping(const Layout& layout, std::span<const float> gradient, double weight, double longest);

}  // namespace steelyard::nn
