// Losses on the scores ("logits") of the last layer, and their gradients.
//
//  softmax_cross_entropy  -sum_j t_j log(exp(s_j) / sum_k exp(s_k));  gradient: softmax_j - t_j. The target t
//                         is [j = y], or, smoothed by e (Szegedy et al. 2016), (1 - e) [j = y] + e / classes
//  hinge                  max(0, 1 + max_{j != y} s_j - s_y), after Crammer and Singer 2001;  gradient, where
//                         it is positive: +1 at the rival j of the highest score, -1 at y
//
// Losses of targets, for k outputs s_j ("logits" for the third) and targets t_j; each is the mean over the
// outputs, as PyTorch's MSELoss, L1Loss and BCEWithLogitsLoss:
//
//  mean_squared_error     1/k sum_j (s_j - t_j)^2;  gradient: 2 (s_j - t_j) / k
//  mean_absolute_error    1/k sum_j |s_j - t_j|;  gradient: sign(s_j - t_j) / k, and 0 where they are equal
//  binary_cross_entropy   1/k sum_j -t_j log(p_j) - (1 - t_j) log(1 - p_j) with p_j = 1 / (1 + exp(-s_j)),
//                         computed as max(s_j, 0) - s_j t_j + log(1 + exp(-|s_j|)), which never overflows;
//                         gradient: (p_j - t_j) / k
//
// A sample is correct under binary cross-entropy if all its outputs are on the side of their targets: s_j > 0
// where t_j > 1/2. The other two count no answers: Sums::uncounted.
//
// A sample may have several labels, each with its own scores (the tokens of a text). The loss of the sample
// is then the mean over its labels, and each label counts separately as correct. A label is correct if it has
// the highest score (the first of several equal ones).
#pragma once

#include <steelyard/layers.h>
#include <steelyard/micro_batch.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steelyard::nn {

// By their words in job files: "cross_entropy", the default, "hinge", "mse", "mae" and "bce".
std::vector<std::string> loss_words();
std::optional<Loss> loss_named(const std::string& word);
std::string word_of(Loss loss);

struct LossOptions {
  Loss kind = Loss::softmax_cross_entropy;
  std::uint32_t classes = 0;  // or targets
  std::uint32_t labels = 1;   // per sample
  double smoothing = 0;       // e of the target, in [0, 1]; not used by the hinge
};

// Score `c` for label `l` of sample `s` is data[s * sample + l * label + c * score].
struct Strides {
  std::uint64_t sample = 0;
  std::uint64_t score = 0;
  std::uint64_t label = 0;
};

// The labels of sample `s` begin at batch.labels[s * options.labels], its targets at
// batch.targets[s * options.classes]. `gradient` may be null, or the scores themselves; it has the strides of
// the scores and room for `places` samples. Padding samples (index >= batch.count) get a gradient of zero,
// and their scores, labels and targets are not read.
Sums evaluate_loss(const LossOptions& options, const MicroBatch& batch, const float* scores, Strides strides,
                   float* gradient, std::uint32_t places);

}  // namespace steelyard::nn
