// Between samples (channels last, one behind the other) and lanes; see direct.h.
//
// Both ways a square of `width` samples by `width` features goes through the registers. The features of a
// sample are in the order [pixel][channel], the rows of lanes in the order [channel][pixel].
#include <cstddef>
#include <cstdint>

#include "nn/cpu/direct_square.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::direct::STEELYARD_LEVEL {
namespace {

using Index = std::ptrdiff_t;

// Walks the rows of lanes in the order of a sample's features.
class Row {
 public:
  Row(Index pixels, Index channels) : pixels_(pixels), channels_(channels) {}
  // This row's number; then on to the next.
  Index next() {
    const Index now = row_;
    row_ += pixels_;
    if (++channel_ == channels_) {
      channel_ = 0;
      row_ -= pixels_ * channels_ - 1;
    }
    return now;
  }

 private:
  Index pixels_, channels_;
  Index row_ = 0, channel_ = 0;
};

void to_lanes(std::uint32_t pixels, std::uint32_t channels, std::uint32_t lanes, std::uint32_t count,
              const float* samples, float* picture) {
  const Index features = Index{pixels} * channels;
  for (Index first = 0; first < lanes; first += width) {
    Row row(pixels, channels);
    Index feature = 0;
    for (; feature + width <= features; feature += width) {
      Vector square[width];
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) {
        square[i] = first + i < count ? load(samples + (first + i) * features + feature) : Vector{};
      }
      turn_square(square);
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) store(picture + row.next() * lanes + first, square[i]);
    }
    for (; feature < features; ++feature) {
      float* to = picture + row.next() * lanes + first;
      for (int i = 0; i < width; ++i)
        to[i] = first + i < count ? samples[(first + i) * features + feature] : 0.0F;
    }
  }
}

void from_lanes(std::uint32_t pixels, std::uint32_t channels, std::uint32_t lanes, std::uint32_t count,
                const float* picture, float* samples) {
  const Index features = Index{pixels} * channels;
  for (Index first = 0; first < count; first += width) {
    const Index here = count - first < width ? count - first : Index{width};
    Row row(pixels, channels);
    Index feature = 0;
    for (; feature + width <= features; feature += width) {
      Vector square[width];
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) square[i] = load(picture + row.next() * lanes + first);
      turn_square(square);
#pragma GCC unroll 16
      for (int i = 0; i < width; ++i) {
        if (i < here) store(samples + (first + i) * features + feature, square[i]);
      }
    }
    for (; feature < features; ++feature) {
      const float* from = picture + row.next() * lanes + first;
      for (Index i = 0; i < here; ++i) samples[(first + i) * features + feature] = from[i];
    }
  }
}

}  // namespace

const TransposeTable transpose = {to_lanes, from_lanes};

}  // namespace steelyard::nn::direct::STEELYARD_LEVEL
