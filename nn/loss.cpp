#include "nn/loss.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "core/check.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/target_loss.h"

namespace steelyard::nn {
namespace {

constexpr std::array<std::pair<const char*, Loss>, 5> named_losses{
    {{"cross_entropy", Loss::softmax_cross_entropy},
     {"hinge", Loss::hinge},
     {"mse", Loss::mean_squared_error},
     {"mae", Loss::mean_absolute_error},
     {"bce", Loss::binary_cross_entropy}}};

// The class with the highest score other than `except`; the first of several.
std::uint32_t highest(const float* scores, std::uint32_t classes, std::uint32_t except) {
  std::uint32_t best = except == 0 ? 1 : 0;
  for (std::uint32_t c = best + 1; c < classes; ++c) {
    if (c != except && scores[c] > scores[best]) best = c;
  }
  return best;
}

bool is_first_of_highest(const float* scores, std::uint32_t classes, std::uint32_t label) {
  const float own = scores[label];
  return std::all_of(scores, scores + label, [=](float other) { return other < own; }) &&
         std::all_of(scores + label, scores + classes, [=](float other) { return other <= own; });
}

// The loss of one label; `gradient` receives its contribution to the gradient of the sample's mean.
double softmax_cross_entropy(const LossOptions& options, const float* scores, std::uint32_t label,
                             float* gradient) {
  const double share = 1.0 / options.labels, rest = options.smoothing / options.classes;
  const double own = scores[label];
  const SoftmaxSums sums = softmax(scores, options.classes, static_cast<float>(share),
                                   static_cast<float>(-rest * share), gradient);
  gradient[label] -= static_cast<float>((1 - options.smoothing) * share);
  const double loss = std::log(sums.exponentials) - (1 - options.smoothing) * (own - sums.top);
  return rest > 0 ? loss - rest * sums.distances : loss;
}

// At loss 0 exactly, where the hinge has a kink, the gradient is 0.
double hinge(const LossOptions& options, const float* scores, std::uint32_t label, float* gradient) {
  const std::uint32_t rival = highest(scores, options.classes, label);
  const double loss = 1.0 + scores[rival] - scores[label];
  for (std::uint32_t c = 0; c < options.classes; ++c) gradient[c] = 0;
  if (loss > 0) {
    gradient[rival] = 1.0F / static_cast<float>(options.labels);
    gradient[label] = -gradient[rival];
  }
  // NaN must not become a loss of 0.
  return loss > 0 || std::isnan(loss) ? loss : 0;
}

// The loss of one label or, without labels, of the targets of sample `s`.
double loss_of(const LossOptions& options, const MicroBatch& batch, std::uint64_t s, std::uint64_t l,
               const float* scores, float* gradient, Sums& sums) {
  const std::uint32_t classes = options.classes;
  if (takes_targets(options.kind)) {
    const float* targets = batch.targets + s * classes;
    if (!counts_answers(options.kind)) sums.correct = Sums::uncounted;
    if (counts_answers(options.kind)) sums.correct += all_on_their_side(scores, targets, classes) ? 1 : 0;
    return target_loss(options.kind, scores, targets, classes, gradient);
  }
  const std::uint32_t label = batch.labels[s * options.labels + l];
  CHECK(label < classes, "a label is not a class of the model");
  sums.correct += is_first_of_highest(scores, classes, label) ? 1 : 0;
  return options.kind == Loss::hinge ? hinge(options, scores, label, gradient)
                                     : softmax_cross_entropy(options, scores, label, gradient);
}

}  // namespace

std::vector<std::string> loss_words() {
  std::vector<std::string> words;
  for (const auto& [word, loss] : named_losses) words.emplace_back(word);
  return words;
}

std::optional<Loss> loss_named(const std::string& word) {
  const auto found = std::ranges::find_if(named_losses, [&](const auto& it) { return it.first == word; });
  return found == named_losses.end() ? std::nullopt : std::optional(found->second);
}

std::string word_of(Loss loss) {
  return std::ranges::find_if(named_losses, [&](const auto& it) { return it.second == loss; })->first;
}

Sums evaluate_loss(const LossOptions& options, const MicroBatch& batch, const float* scores, Strides strides,
                   float* gradient, std::uint32_t places) {
  CHECK(options.classes > 0 && options.labels > 0, "a loss needs classes and labels");
  CHECK(!takes_targets(options.kind) || (batch.targets != nullptr && options.labels == 1),
        "a loss of targets needs them, one row for each sample");
  const std::uint32_t classes = options.classes;
  // Rows with strided scores are gathered and scattered; they are short.
  const bool in_a_piece = strides.score == 1;
  std::vector<float> row(in_a_piece ? 0 : classes), d_row(classes);
  Sums sums;
  for (std::uint64_t s = 0; s < places; ++s) {
    double loss = 0;
    for (std::uint64_t l = 0; l < options.labels; ++l) {
      const std::uint64_t at = s * strides.sample + l * strides.label;
      if (s >= batch.count) {
        for (std::uint64_t c = 0; gradient != nullptr && c < classes; ++c)
          gradient[at + c * strides.score] = 0;
        continue;
      }
      for (std::size_t c = 0; c < row.size(); ++c) row[c] = scores[at + c * strides.score];
      const float* from = in_a_piece ? scores + at : row.data();
      float* to = in_a_piece && gradient != nullptr ? gradient + at : d_row.data();
      loss += loss_of(options, batch, s, l, from, to, sums);
      if (in_a_piece || gradient == nullptr) continue;
      for (std::uint64_t c = 0; c < classes; ++c) gradient[at + c * strides.score] = to[c];
    }
    sums.loss += loss / options.labels;
  }
  return sums;
}

}  // namespace steelyard::nn
