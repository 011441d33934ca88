#include "nn/cuda/local_step.h"

#include <algorithm>

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 256;
constexpr std::uint64_t part_floats = 4096;

__device__ local_elements::Element next_of(const LocalRange& range, bool first, float gradient,
                                           local_elements::Element e) {
  switch (range.kind) {
    case LocalRange::Kind::mean:
      return local_elements::mean_of(range.factors, first, gradient, e);
    case LocalRange::Kind::ema:
      return local_elements::ema_of(range.factors, first, gradient, e);
    default:
      return local_elements::step_of(range.factors, first, range.kind == LocalRange::Kind::nesterov, gradient,
                                     e);
  }
}

// A block computes one part.
__global__ void step_parts(const LocalSteps::Part* parts, const LocalRange* ranges, bool first,
                           const float* gradient, float* local, float* kept, float* moved) {
  const LocalSteps::Part part = parts[blockIdx.x];
  const LocalRange range = ranges[part.range];
  for (unsigned i = threadIdx.x; i < part.size; i += blockDim.x) {
    const std::uint64_t at = part.begin + i;
    const local_elements::Element e =
        next_of(range, first, gradient[at], {local[at], first ? 0 : kept[at], first ? 0 : moved[at]});
    local[at] = e.local;
    kept[at] = e.kept;
    moved[at] = e.moved;
  }
}

}  // namespace

LocalSteps::LocalSteps(Stream& stream, std::uint64_t floats)
    : stream_(stream), kept_(floats), moved_(floats) {}

void LocalSteps::divide(std::span<const LocalRange> ranges) {
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    for (std::uint64_t at = ranges[i].begin; at < ranges[i].end; at += part_floats) {
      const std::uint64_t size = std::min(part_floats, ranges[i].end - at);
      parts.push_back({at, static_cast<std::uint32_t>(size), i});
    }
  }
  const PinnedArray<Part> pinned(parts.size());
  std::copy(parts.begin(), parts.end(), pinned.data());
  parts_.emplace(parts.size());
  ranges_.emplace(ranges.size());
  pinned_ranges_.emplace(ranges.size());
  stream_.copy_array(parts_->data(), pinned.data(), parts.size());
  stream_.synchronize();
}

void LocalSteps::step(std::span<const LocalRange> ranges, bool first, const float* gradient, float* local) {
  if (!parts_) divide(ranges);
  std::copy(ranges.begin(), ranges.end(), pinned_ranges_->data());
  stream_.copy_array(ranges_->data(), pinned_ranges_->data(), ranges.size());
  launch(stream_, static_cast<unsigned>(parts_->size()), threads, &step_parts, parts_->data(),
         ranges_->data(), first, gradient, local, kept_.data(), moved_.data());
}

}  // namespace steelyard::nn::cuda
