#include "nn/loss.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace steelyard::nn {
namespace {

// The scores of one sample, or their gradient: every stride-th float.
template <class T>
struct Row {
  T* data;
  std::uint64_t stride;
  std::uint32_t size;

  T& operator[](std::uint32_t c) const { return data[c * stride]; }
};

// The highest score among those that are not `except`; the first of several.
std::uint32_t highest(Row<const float> scores, std::uint32_t except) {
  std::uint32_t best = except == 0 ? 1 : 0;
  for (std::uint32_t c = best + 1; c < scores.size; ++c) {
    if (c != except && scores[c] > scores[best]) best = c;
  }
  return best;
}

double softmax_cross_entropy(Row<const float> scores, std::uint32_t label, Row<float> gradient) {
  // The highest score is taken off first, so that no exponential overflows.
  const double top = scores[highest(scores, scores.size)];
  double sum = 0;
  for (std::uint32_t c = 0; c < scores.size; ++c) {
    const double share = std::exp(scores[c] - top);
    sum += share;
    if (gradient.data != nullptr) gradient[c] = static_cast<float>(share);
  }
  if (gradient.data != nullptr) {
    const float scale = static_cast<float>(1 / sum);
    for (std::uint32_t c = 0; c < scores.size; ++c) gradient[c] *= scale;
    gradient[label] -= 1;
  }
  return std::log(sum) + top - scores[label];
}

// At loss 0 exactly, where the hinge has a kink, the gradient is 0.
double hinge(Row<const float> scores, std::uint32_t label, Row<float> gradient) {
  const std::uint32_t rival = highest(scores, label);
  const double loss = 1.0 + scores[rival] - scores[label];
  if (gradient.data != nullptr) {
    for (std::uint32_t c = 0; c < scores.size; ++c) gradient[c] = 0;
    if (loss > 0) {
      gradient[rival] = 1;
      gradient[label] = -1;
    }
  }
  // A NaN must not pass for a loss of 0.
  return loss > 0 || std::isnan(loss) ? loss : 0;
}

}  // namespace

Sums evaluate_loss(Loss loss, std::uint32_t classes, const MicroBatch& batch, const float* scores,
                   Strides strides, float* gradient, std::uint32_t places) {
  Sums sums;
  for (std::uint32_t s = 0; s < places; ++s) {
    const Row<float> d_row{gradient == nullptr ? nullptr : gradient + s * strides.sample, strides.score,
                           classes};
    if (s >= batch.count) {
      for (std::uint32_t c = 0; gradient != nullptr && c < classes; ++c) d_row[c] = 0;
      continue;
    }
    const Row<const float> row{scores + s * strides.sample, strides.score, classes};
    const std::uint32_t label = batch.labels[s];
    CHECK(label < classes, "a label is no class of the model");
    sums.loss += loss == Loss::hinge ? hinge(row, label, d_row) : softmax_cross_entropy(row, label, d_row);
    sums.correct += highest(row, classes) == label ? 1 : 0;
  }
  return sums;
}

}  // namespace steelyard::nn
