#include "worker/compute/batch_sizes.h"

#include <utility>

#include "core/check.h"

namespace steelyard {
namespace {

// Times are measured, so a cut must gain more than their noise.
constexpr double least_gain = 0.03;

}  // namespace

BatchSizes::BatchSizes(std::vector<std::uint32_t> sizes, std::vector<double> seconds, std::uint64_t grain)
    : sizes_(std::move(sizes)), seconds_(std::move(seconds)), grain_(grain) {
  CHECK(!sizes_.empty() && (seconds_.empty() || seconds_.size() == sizes_.size()),
        "each size of a micro-batch has a time, or none has");
}

std::size_t BatchSizes::holding(std::uint64_t samples) const {
  std::size_t best = 0;
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    if (sizes_[i] >= samples) best = i;
  }
  return best;
}

std::uint32_t BatchSizes::size_for(std::uint64_t samples) const {
  const std::size_t holds = holding(samples);
  return sizes_[cut_is_faster(holds, samples) ? holds + 1 : holds];
}

bool BatchSizes::cut_is_faster(std::size_t holding, std::uint64_t samples) const {
  if (seconds_.empty() || holding + 1 == sizes_.size()) return false;
  const std::uint32_t part = sizes_[holding + 1];
  if (samples <= part || samples >= sizes_[holding] || part % grain_ != 0) return false;
  const double cut = seconds_[holding + 1] + seconds_for(samples - part);
  return cut < (1 - least_gain) * seconds_[holding];
}

double BatchSizes::seconds_for(std::uint64_t samples) const {
  const std::size_t holds = holding(samples);
  if (!cut_is_faster(holds, samples)) return seconds_[holds];
  return seconds_[holds + 1] + seconds_for(samples - sizes_[holds + 1]);
}

}  // namespace steelyard
