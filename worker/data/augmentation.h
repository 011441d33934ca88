// Augmentation of training samples (include/steelyard/data_set.h): random windows of pictures, row by row.
#pragma once

#include <steelyard/data_set.h>

#include <cstdint>

namespace steelyard {

// The window of a picture that a sample shows: this many pixels further down and to the right, both of either
// sign, and mirrored left and right after that.
struct Window {
  std::int64_t down = 0, right = 0;
  bool flipped = false;

  [[nodiscard]] bool moved() const { return down != 0 || right != 0 || flipped; }
};

// A pure function of its arguments: the draws for a position.
Window window_of(const Augmentation& how, std::uint64_t seed, std::uint64_t epoch, std::uint64_t position);

// Writes the window of a picture, both of this shape, channels last. What lies beyond the picture gets the
// values of `fill`, one per channel; empty: zeros. `from` and `into` do not overlap.
void take_window(const Window& window, nn::Shape shape, const std::vector<float>& fill, const float* from,
                 float* into);

}  // namespace steelyard
