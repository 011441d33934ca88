// Augmentation: training pictures, shifted and mirrored at random, as is usual for CIFAR (He et al., "Deep
// residual learning for image recognition" (2016), section 4.2).
//
//  crop n   the picture is seen through a window of its own size, shifted by up to n pixels each way; what is
//           beyond its border is `fill` (the value of a black pixel)
//  flip     left and right are exchanged in one half of the pictures
//
// A pure function of (seed, epoch, position): whichever worker computes a position, and however often, makes
// the same sample of it. Each epoch draws anew. Test samples are never augmented.
#pragma once

#include <cstdint>
#include <vector>

#include "nn/shape.h"

namespace steelyard {

struct Augmentation {
  std::uint32_t crop = 0;  // pixels, at most the sides of the picture; 0: none
  bool flip = false;
  std::vector<float> fill{};  // of each channel; empty: zeros

  [[nodiscard]] bool any() const { return crop > 0 || flip; }
};

// Changes a sample, channels last; `scratch` is as large as the sample, and holds nothing before or after.
void augment(const Augmentation& how, nn::Shape shape, std::uint64_t seed, std::uint64_t epoch,
             std::uint64_t position, float* sample, float* scratch);

}  // namespace steelyard
