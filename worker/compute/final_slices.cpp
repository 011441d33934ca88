#include "worker/compute/final_slices.h"

#include <algorithm>

#include "core/check.h"

namespace steelyard {

void FinalSlices::begin() {
  open_.clear();
  for (const Slice& slice : slices_) open_.push_back(slice.size());
}

std::vector<std::uint32_t> FinalSlices::take(std::uint64_t begin, std::uint64_t end) {
  std::vector<std::uint32_t> whole;
  const auto behind = std::partition_point(slices_.begin(), slices_.end(),
                                           [&](const Slice& slice) { return slice.begin < end; });
  for (auto index = static_cast<std::size_t>(behind - slices_.begin()); index-- > 0;) {
    const Slice& slice = slices_[index];
    if (slice.end <= begin) break;
    const std::uint64_t covered = std::min(end, slice.end) - std::max(begin, slice.begin);
    CHECK(covered <= open_[index], "an engine says of a gradient twice that it is final");
    open_[index] -= covered;
    if (open_[index] == 0) whole.push_back(static_cast<std::uint32_t>(index));
  }
  return whole;
}

std::vector<std::uint32_t> FinalSlices::take_rest() {
  std::vector<std::uint32_t> rest;
  for (std::size_t index = slices_.size(); index-- > 0;) {
    if (open_[index] == 0) continue;
    open_[index] = 0;
    rest.push_back(static_cast<std::uint32_t>(index));
  }
  return rest;
}

}  // namespace steelyard
