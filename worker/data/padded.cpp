#include "worker/data/padded.h"

#include <algorithm>

#include "core/error.h"

namespace steelyard {

PaddedDataSet::PaddedDataSet(std::shared_ptr<const DataSet> inner, std::uint32_t height, std::uint32_t width,
                             std::vector<float> fill)
    : inner_(std::move(inner)), shape_{height, width, inner_->shape().channels}, fill_(std::move(fill)) {
  const nn::Shape its = inner_->shape();
  if (its.height <= height && its.width <= width) return;
  throw Failure(ExitCode::configuration, "pad = " + std::to_string(height) + ": the pictures are " +
                                             std::to_string(its.height) + " x " + std::to_string(its.width) +
                                             " already: give no less, or leave pad out");
}

// The picture is read into the beginning of `into`, and its rows moved to their places, the last first: each
// lies behind where it was.
void PaddedDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  inner_->read(index, into, labels);
  const nn::Shape its = inner_->shape();
  const std::uint64_t channels = shape_.channels, row = its.width * channels;
  const std::uint64_t top = (shape_.height - its.height) / 2, left = (shape_.width - its.width) / 2;
  const auto black = [&](std::uint64_t begin, std::uint64_t end) {
    for (std::uint64_t i = begin; i < end; ++i) into[i] = fill_.empty() ? 0 : fill_[i % channels];
  };
  std::uint64_t filled = shape_.size();  // all behind is in its place
  for (std::uint64_t y = its.height; y-- > 0;) {
    const std::uint64_t to = ((top + y) * shape_.width + left) * channels;
    std::copy_backward(into + y * row, into + (y + 1) * row, into + to + row);
    black(to + row, filled);
    filled = to;
  }
  black(0, filled);
}

}  // namespace steelyard
