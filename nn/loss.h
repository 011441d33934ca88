// Losses on the scores ("logits") of the last layer, and their gradients.
//
//  softmax_cross_entropy  -log(exp(s_y) / sum_j exp(s_j));  gradient: softmax_j - [j = y]
//  hinge                  max(0, 1 + max_{j != y} s_j - s_y), after Crammer and Singer 2001;  gradient, where
//                         it is positive: +1 at the rival j of the highest score, -1 at y
//
// A sample counts as correct if its label has the highest score (the first of several that are equal).
#pragma once

#include <cstdint>

#include "nn/micro_batch.h"
#include "nn/model.h"

namespace steelyard::nn {

// Sums over the real samples of one or more micro-batches; plain numbers, to be added by whoever needs more.
struct Sums {
  double loss = 0;
  std::uint64_t correct = 0;

  Sums& operator+=(const Sums& other) {
    loss += other.loss;
    correct += other.correct;
    return *this;
  }
  friend bool operator==(const Sums&, const Sums&) = default;
};

// Where score `c` of sample `s` lies: data[s * sample + c * score].
struct Strides {
  std::uint64_t sample = 0;
  std::uint64_t score = 0;
};

// `gradient` may be null; otherwise it has the strides of the scores and room for `places` samples. Samples
// that are not real (index >= batch.count) get a gradient of zero, and their scores and labels are not read.
Sums evaluate_loss(Loss loss, std::uint32_t classes, const MicroBatch& batch, const float* scores,
                   Strides strides, float* gradient, std::uint32_t places);

}  // namespace steelyard::nn
