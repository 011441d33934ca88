// Training steps of whole networks: samples per second in rounds of eight micro-batches, as for a worker with
// a large share. bench/gpu/torch_steps.py measures the same in PyTorch. The time includes copies in both
// directions, but not the update, which servers do.
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/gpu_training.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/pairs.h"

namespace steelyard::bench {
namespace {

constexpr unsigned micro_batches = 8;

void measure(const GpuModel& it, std::uint32_t samples, Precision precision) {
  Training training(it, samples, precision);
  const double rate = training.samples() * micro_batches / training.round_seconds(micro_batches);
  std::string note = std::to_string(training.bytes() / 1'000'000) + " MB on the device";
  if (training.samples() < samples) note += ", " + std::to_string(training.samples()) + " samples at once";
  print({"step " + it.name + ", " + std::to_string(samples) + ", " + name(precision),
         short_number(rate) + " samples/s",
         short_number(rate * training.model().flops_per_sample() * 1e-12) + " TFLOP/s", note});
}

// The check without a device: runs a step of one model.
void run_once(const GpuModel& it) {
  Training training(it, 1, Precision::float32);
  training.round_seconds(1);
}

}  // namespace

void gpu_steps_section() {
  if (!measures()) {
    run_once(gpu_models().back());
    print({"training steps", "", "", "times on the host executor are meaningless"});
    return;
  }
  bool failed = false;
  for (const GpuModel& it : gpu_models()) {
    for (const std::uint32_t samples : {256U, 1024U}) {
      for (const Precision precision : {Precision::float32, Precision::tf32, Precision::bf16}) {
        try {
          measure(it, samples, precision);
        } catch (const std::exception& trouble) {  // continue with the other cases
          failed = true;
          print({"step " + it.name + ", " + std::to_string(samples) + ", " + name(precision), "FAILED", "",
                 trouble.what()});
        }
      }
    }
  }
  expect(!failed, "steps could not be measured");
}

}  // namespace steelyard::bench
