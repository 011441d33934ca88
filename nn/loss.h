// Losses on the scores ("logits") of the last layer, and their gradients.
//
//  softmax_cross_entropy  -sum_j t_j log(exp(s_j) / sum_k exp(s_k));  gradient: softmax_j - t_j. The target t
//                         is [j = y], or, smoothed by e (Szegedy et al. 2016), (1 - e) [j = y] + e / classes
//  hinge                  max(0, 1 + max_{j != y} s_j - s_y), after Crammer and Singer 2001;  gradient, where
//                         it is positive: +1 at the rival j of the highest score, -1 at y
//
// A sample may have several labels, each with its own scores (the tokens of a text). The loss of the sample
// is then the mean over its labels, and each label counts separately as correct. A label is correct if it has
// the highest score (the first of several equal ones).
#pragma once

#include <steelyard/layers.h>
#include <steelyard/micro_batch.h>

#include <cstdint>

namespace steelyard::nn {

struct LossOptions {
  Loss kind = Loss::softmax_cross_entropy;
  std::uint32_t classes = 0;
  std::uint32_t labels = 1;  // per sample
  double smoothing = 0;      // e of the target, in [0, 1]; not used by the hinge
};

// Score `c` for label `l` of sample `s` is data[s * sample + l * label + c * score].
struct Strides {
  std::uint64_t sample = 0;
  std::uint64_t score = 0;
  std::uint64_t label = 0;
};

// The labels of sample `s` begin at batch.labels[s * options.labels]. `gradient` may be null; otherwise it
// has the strides of the scores and room for `places` samples. Padding samples (index >= batch.count) get a
// gradient of zero, and their scores and labels are not read.
Sums evaluate_loss(const LossOptions& options, const MicroBatch& batch, const float* scores, Strides strides,
                   float* gradient, std::uint32_t places);

}  // namespace steelyard::nn
