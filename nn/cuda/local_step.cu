#include "nn/cuda/local_step.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "nn/cuda/kernel.h"
#include "nn/optimizer/clipping.h"
#include "nn/optimizer/rule_kernels.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned threads = 256;

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

// A warp sums one part, a chain a lane. The square of a float is exact in double, so it does not matter
// whether it is fused with the addition.
__global__ void square_parts(const LocalSteps::Part* parts, const float* gradient, double* squares) {
  const LocalSteps::Part part = parts[blockIdx.x];
  const float* const x = gradient + part.begin;
  double chain = 0;
  for (unsigned i = threadIdx.x; i < part.size; i += square_chains)
    chain += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  double sum = 0;
  for (unsigned lane = 0; lane < square_chains; ++lane) sum += __shfl_sync(all_lanes, chain, lane);
  if (threadIdx.x == 0) squares[blockIdx.x] = sum;
}

}  // namespace

LocalSteps::LocalSteps(Stream& stream, std::uint64_t floats)
    : stream_(stream), kept_(floats), moved_(floats) {}

DeviceArray<LocalSteps::Part> LocalSteps::divided(std::span<const Interval> ranges) {
  std::vector<Part> parts;
  for (std::uint32_t i = 0; i < ranges.size(); ++i) {
    for_each_norm_part(ranges.subspan(i, 1), [&](Interval part) {
      parts.push_back({part.begin, static_cast<std::uint32_t>(part.size()), i});
    });
  }
  const PinnedArray<Part> pinned(parts.size());
  std::copy(parts.begin(), parts.end(), pinned.data());
  DeviceArray<Part> there(parts.size());
  stream_.copy_array(there.data(), pinned.data(), parts.size());
  stream_.synchronize();
  return there;
}

double LocalSteps::sum_of_squares(std::span<const Interval> ranges, const float* gradient) {
  if (ranges.empty()) return 0;
  if (!norm_parts_) {
    norm_parts_ = divided(ranges);
    squares_.emplace(norm_parts_->size());
    pinned_squares_.emplace(norm_parts_->size());
  }
  const std::uint64_t parts = norm_parts_->size();
  launch(stream_, static_cast<unsigned>(parts), square_chains, &square_parts, norm_parts_->data(), gradient,
         squares_->data());
  stream_.copy_array(pinned_squares_->data(), squares_->data(), parts);
  stream_.synchronize();
  return std::accumulate(pinned_squares_->data(), pinned_squares_->data() + parts, 0.0);
}

void LocalSteps::step(std::span<const LocalRange> ranges, bool first, const float* gradient, float* local) {
  if (!parts_) {
    std::vector<Interval> places;
    for (const LocalRange& range : ranges) places.push_back({range.begin, range.end});
    parts_ = divided(places);
    ranges_.emplace(ranges.size());
    pinned_ranges_.emplace(ranges.size());
  }
  std::copy(ranges.begin(), ranges.end(), pinned_ranges_->data());
  stream_.copy_array(ranges_->data(), pinned_ranges_->data(), ranges.size());
  launch(stream_, static_cast<unsigned>(parts_->size()), threads, &step_parts, parts_->data(),
         ranges_->data(), first, gradient, local, kept_.data(), moved_.data());
}

}  // namespace steelyard::nn::cuda
