#include "bench/gpu/gpu_training.h"

#include <algorithm>
#include <cmath>

#include "bench/gpu/timing.h"
#include "bench/pairs.h"
#include "core/random.h"
#include "core/time.h"
#include "nn/models.h"

namespace steelyard::bench {
namespace {

// Without dropout, because PyTorch would draw other masks.
nn::Model made(const GpuModel& of, Precision precision) {
  OptionTexts values;
  if (of.name == "mlp") values["dropout"] = "0";
  return nn::make_model(of.name, {of.input, 10, values}).multiply_in(precision);
}

}  // namespace

const std::vector<GpuModel>& gpu_models() {
  static const std::vector<GpuModel> models{
      {"resnet18", {32, 32, 3}}, {"vit", {32, 32, 3}}, {"resnet20", {32, 32, 3}}, {"mlp", {28, 28, 1}}};
  return models;
}

Training::Training(const GpuModel& of, std::uint32_t samples, Precision precision)
    : model_(made(of, precision)),
      network_(model_, 0, samples),
      parameters_(model_.parameters()),
      gradient_(model_.parameters()) {
  const std::uint32_t fitting = network_.micro_batch_sizes().front();
  Random random(1);
  inputs_.resize(model_.input().size() * fitting);
  for (float& value : inputs_) value = static_cast<float>(random.normal());
  for (std::uint32_t s = 0; s < fitting; ++s) {
    labels_.push_back(static_cast<std::uint32_t>(random.below(model_.classes())));
    positions_.push_back(s);
  }
  model_.initialize(parameters_, 1);
  batch_ = {.inputs = inputs_.data(),
            .labels = labels_.data(),
            .positions = positions_.data(),
            .size = fitting,
            .count = fitting,
            .seed = 1};
}

void Training::round(unsigned micro_batches) {
  network_.begin(parameters_);
  for (unsigned i = 1; i <= micro_batches; ++i) network_.train(batch_, i == micro_batches);
  const nn::Sums sums = network_.finish(gradient_, {});
  expect(std::isfinite(sums.loss), "the loss is not finite");
}

double Training::round_seconds(unsigned micro_batches) {
  for (int i = 0; i < 3; ++i) round(micro_batches);  // first use, capture, and graph
  double length = 0;
  for (const float number : gradient_) length += double{number} * number;
  expect(std::isfinite(length) && length > 0, "the gradient is zero or not finite");
  std::vector<double> readings;
  double all = 0;
  while (readings.size() < (measures() ? 5 : 1) || (measures() && all < 1)) {
    const Duration begin = steady_now().since_origin;
    round(micro_batches);
    readings.push_back(seconds(steady_now().since_origin - begin));
    all += readings.back();
  }
  std::ranges::sort(readings);
  return readings[readings.size() / 2];
}

}  // namespace steelyard::bench
