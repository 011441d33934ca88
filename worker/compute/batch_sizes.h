// BatchSizes: how n positions are cut into micro-batches: as many of the largest size as fit, and the rest
//
//   into one of the smallest size that holds it, padded                      if no times are known, or
//   into two parts or more, each a smaller size that is full, but the last   if they take less time in sum
#pragma once

#include <cstdint>
#include <vector>

namespace steelyard {

class BatchSizes {
 public:
  // `sizes`: largest first, down to 1. `seconds`: of a micro-batch of each size; empty: unknown.
  // Micro-batches are not cut within a `grain`.
  BatchSizes(std::vector<std::uint32_t> sizes,
             std::vector<double> seconds = {},  // NOLINT: sizes alone will do
             std::uint64_t grain = 1);

  [[nodiscard]] std::uint32_t largest() const { return sizes_.front(); }
  // The size of the next micro-batch, of this many samples or, if it is smaller, of the first of them.
  [[nodiscard]] std::uint32_t size_for(std::uint64_t samples) const;

 private:
  // The index of the smallest size that holds them; 0 if none does.
  [[nodiscard]] std::size_t holding(std::uint64_t samples) const;
  [[nodiscard]] bool cut_is_faster(std::size_t holding, std::uint64_t samples) const;
  [[nodiscard]] double seconds_for(std::uint64_t samples) const;  // at most the largest size

  std::vector<std::uint32_t> sizes_;
  std::vector<double> seconds_;
  std::uint64_t grain_;
};

}  // namespace steelyard
