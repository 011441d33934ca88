#include "bench/gpu/gpu_training.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/gpu/timing.h"
#include "bench/pairs.h"
#include "core/time.h"
#include "nn/cuda/micro_batch_choice.h"

namespace steelyard::bench {
namespace {

// Without dropout, because PyTorch would draw other masks.
nn::Model made(const GpuModel& of, Precision precision) {
  nn::ModelOptions options = measures() ? of.published : of.small;
  if (of.name == "mlp") options.values["dropout"] = "0";
  return nn::make_model(of.name, options).multiply_in(precision);
}

}  // namespace

Training::Training(const GpuModel& of, std::uint32_t samples, Precision precision)
    : model_(made(of, precision)),
      network_(samples == 0 ? nn::cuda::choose_network(model_, 0).network
                            : std::make_unique<nn::cuda::Network>(model_, 0, samples)),
      random_(model_, network_->micro_batch_sizes().front(), of.tokens),
      pool_(model_.parameters()),
      parameters_(pool_.take()),
      gradient_(pool_.take()) {
  const std::uint32_t fitting = network_->micro_batch_sizes().front();
  model_.initialize(parameters_->span(), 1);
  batch_ = random_.batch(fitting, fitting);
}

void Training::round(unsigned micro_batches) {
  network_->begin(parameters_->span(), gradient_->span());
  for (unsigned i = 1; i <= micro_batches; ++i) network_->train(batch_, i == micro_batches);
  const nn::Sums sums = network_->finish(gradient_->span(), {});
  expect(std::isfinite(sums.loss), "the loss is not finite");
}

double Training::round_seconds(unsigned micro_batches) {
  for (int i = 0; i < 3; ++i) round(micro_batches);  // first use, capture, and graph
  double length = 0;
  for (const float number : gradient_->span()) length += double{number} * number;
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
