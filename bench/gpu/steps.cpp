// Training steps of whole networks: samples per second in rounds of eight micro-batches, as for a worker
// with a large share. bench/gpu/torch_steps.py measures the same in PyTorch. The time includes copies in
// both directions, but not the update, which servers do.
#include "bench/gpu/compared.h"
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/gpu_training.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"

namespace steelyard::bench {
namespace {

constexpr unsigned micro_batches = 8;
constexpr std::uint32_t chosen = 0;  // as many samples as a worker chooses

void measure(const GpuModel& it, std::uint32_t samples, Precision precision, const std::string& title) {
  Training training(it, samples, precision);
  const double rate = training.samples() * micro_batches / training.round_seconds(micro_batches);
  std::string note = std::to_string(training.bytes() / 1'000'000) + " MB on the device";
  if (samples == chosen || training.samples() < samples)
    note += ", " + std::to_string(training.samples()) + " samples at once";
  print({title, short_number(rate) + " samples/s",
         short_number(rate * training.model().flops_per_sample() * 1e-12) + " TFLOP/s", note});
}

// The check without a device.
void run_once(const GpuModel& it, const std::string& title) {
  Training training(it, 1, Precision::float32);
  training.round_seconds(1);
  print({title, "", "", "the round is correct; times on the host executor are meaningless"});
}

}  // namespace

std::vector<Case> step_cases() {
  std::vector<Case> cases;
  std::vector<std::string> names{"resnet18", "resnet20", "vit", "transformer", "gpt", "lenet5", "mlp"};
  if (!measures()) names = {"lenet5", "mlp"};
  const auto add = [&](std::uint32_t samples, Precision precision) {
    for (const std::string& of : names) {
      const GpuModel& it = gpu_model(of);
      const std::string title = "step " + it.name + ", " +
                                (samples == chosen ? "chosen" : std::to_string(samples)) + ", " +
                                name(precision);
      cases.push_back(
          {title, [=] { measures() ? measure(it, samples, precision, title) : run_once(it, title); }});
    }
  };
  // The most important ones first, because the time may not be enough for all.
  for (const Precision precision : {Precision::tf32, Precision::bf16}) add(256, precision);
  if (small_sizes()) return {cases.begin(), cases.begin() + static_cast<std::ptrdiff_t>(cases.size() / 2)};
  for (const Precision precision : {Precision::tf32, Precision::bf16}) add(chosen, precision);
  add(256, Precision::float32);
  for (const Precision precision : every_precision) add(1024, precision);
  return cases;
}

}  // namespace steelyard::bench
