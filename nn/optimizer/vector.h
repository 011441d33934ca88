// Operations of servers and workers on whole slices, other than the update rules. Any alignment and length,
// for one thread.
//
// Results depend only on the numbers and the processor's level. (To copy a slice, use std::memcpy: measured
// to be as fast as any alternative.)
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "core/processor.h"

namespace steelyard::nn {

// into[i] += x[i]. Equal lengths.
void add(std::span<float> into, std::span<const float> x, Level level = cpu_level());

// into[i] = x[i] + y[i]. Equal lengths, in three different buffers.
void sum(std::span<float> into, std::span<const float> x, std::span<const float> y,
         Level level = cpu_level());

// Whether no element is infinite or NaN. Exact; always reads the whole slice, as nearly all slices are
// finite.
bool all_finite(std::span<const float> x, Level level = cpu_level());

// A sum of squares computed slice by slice. The division into slices does not affect any bit.
class SquareSum {
 public:
  explicit SquareSum(Level level = cpu_level()) : level_(level) {}
  void add(std::span<const float> x);
  // The same, if add(chains, at) adds `size` elements elsewhere: element i to chains[(at + i) % 32].
  template <class Add>
  void add_by(std::size_t size, Add add) {
    add(std::span(chains_), size_);
    size_ += size;
  }
  [[nodiscard]] double total() const;

 private:
  Level level_;
  std::array<double, 32> chains_{};
  std::size_t size_ = 0;  // so far
};

// Summed in double in a fixed order, so no float overflows; relative error below 1e-12 for slices of usual
// sizes.
double sum_of_squares(std::span<const float> x, Level level = cpu_level());

}  // namespace steelyard::nn
