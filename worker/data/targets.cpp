#include "worker/data/targets.h"

#include <algorithm>
#include <cmath>

#include "worker/data/normalization.h"

namespace steelyard {
namespace {

const std::vector<std::string>& kind_words() {
  static const std::vector<std::string> words{"classes", "numbers", "binary"};
  return words;
}

}  // namespace

std::string word_of(LabelKind kind) { return kind_words().at(static_cast<std::size_t>(kind)); }

std::vector<Option> label_options() {
  return {
      word_option(targets_key, kind_words().front(), kind_words(),
                  "what labels are; loss = mse or mae in [model] makes them numbers, bce binary (0 or 1)"),
      flag_option("scale_targets", true,
                  "numbers are scaled to mean 0 and deviation 1; predictions are scaled back")};
}

LabelOptions label_options_in(const Options& options) {
  const auto found = std::ranges::find(kind_words(), options.text(targets_key));
  return {static_cast<LabelKind>(found - kind_words().begin()), options.flag("scale_targets")};
}

std::string target_trouble(LabelKind kind, double value) {
  if (!std::isfinite(value)) return "is not a finite number";
  return kind == LabelKind::binary && value != 0 && value != 1 ? "is neither 0 nor 1" : "";
}

void Targets::read(std::uint64_t index, float* into) const {
  std::copy_n(values_.data() + index * each_, each_, into);
}

Normalization Targets::measured() const {
  const std::uint64_t samples = std::min<std::uint64_t>(values_.size() / each_, measured_samples);
  const auto mean_of = [&](const auto& function) {
    std::vector<double> sums(each_);
    for (std::uint64_t i = 0; i < samples * each_; ++i) sums[i % each_] += function(values_[i], i % each_);
    for (double& sum : sums) sum /= static_cast<double>(samples);
    return sums;
  };
  const std::vector<double> mean = mean_of([](double value, std::uint64_t) { return value; });
  std::vector<double> deviation =
      mean_of([&](double value, std::uint64_t i) { return (value - mean[i]) * (value - mean[i]); });
  for (std::uint32_t i = 0; i < each_; ++i) deviation[i] = deviation_of(deviation[i], mean[i]);
  return {mean, std::move(deviation)};
}

void Targets::scale(const Normalization& by) {
  for (std::uint64_t i = 0; i < values_.size(); ++i) {
    const std::uint64_t target = i % each_;
    values_[i] = static_cast<float>((double{values_[i]} - by.mean[target]) / by.deviation[target]);
  }
}

Normalization scale_targets(Targets& train, Targets& test, const LabelOptions& options) {
  if (options.kind != LabelKind::numbers || !options.scaled)
    return {std::vector<double>(train.each(), 0), std::vector<double>(train.each(), 1)};
  const Normalization by = train.measured();
  train.scale(by);
  test.scale(by);
  return by;
}

}  // namespace steelyard
