#include "worker/compute/final_slices.h"

#include <algorithm>

#include "core/check.h"

namespace steelyard {

void FinalSlices::begin() {
  open_.clear();
  for (const Slice& slice : slices_) open_.push_back(slice.size());
}

void FinalSlices::take(std::uint64_t begin, std::uint64_t end, const Post& post) {
  const auto behind = std::partition_point(slices_.begin(), slices_.end(),
                                           [&](const Slice& slice) { return slice.begin < end; });
  for (auto index = static_cast<std::size_t>(behind - slices_.begin()); index-- > 0;) {
    const Slice& slice = slices_[index];
    if (slice.end <= begin) return;
    const std::uint64_t covered = std::min(end, slice.end) - std::max(begin, slice.begin);
    CHECK(covered <= open_[index], "an engine says of a gradient twice that it is final");
    open_[index] -= covered;
    if (open_[index] == 0) post(static_cast<std::uint32_t>(index));
  }
}

void FinalSlices::take_rest(const Post& post) {
  for (std::size_t index = slices_.size(); index-- > 0;) {
    if (open_[index] == 0) continue;
    open_[index] = 0;
    post(static_cast<std::uint32_t>(index));
  }
}

}  // namespace steelyard
