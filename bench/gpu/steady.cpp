// Rounds in steady state, when all graphs are captured. Counts the calls of our own code that allocate
// memory or wait (nn/cuda/runtime.h); allocations inside libraries show only as less free memory on the
// device. Rounds of eight and of sixteen micro-batches give the time of one micro-batch, and the time of a
// round besides them.
#include "bench/gpu/gpu_sections.h"
#include "bench/gpu/gpu_training.h"
#include "bench/gpu/rows.h"
#include "bench/gpu/timing.h"
#include "bench/pairs.h"
#include "nn/cuda/runtime.h"

namespace steelyard::bench {
namespace {

void count(Training& training, const std::string& what) {
  constexpr unsigned rounds = 10, micro_batches = 8;
  for (int i = 0; i < 3; ++i) training.round(micro_batches);
  const nn::cuda::Calls before = nn::cuda::calls_of_this_thread();
  const std::uint64_t free = nn::cuda::free_bytes();
  for (unsigned i = 0; i < rounds; ++i) training.round(micro_batches);
  const nn::cuda::Calls after = nn::cuda::calls_of_this_thread();
  const std::uint64_t taken = after.allocations - before.allocations;
  expect(taken == 0, what + ": rounds in steady state allocate memory");
  const std::uint64_t now = nn::cuda::free_bytes();
  print({"steady " + what + ": memory allocated", std::to_string(taken) + " times",
         std::to_string(static_cast<std::int64_t>(free - now)) + " B less free",
         "in " + std::to_string(rounds) + " rounds; our own calls only"});
  print({"steady " + what + ": waits of the host",
         short_number(static_cast<double>(after.stream_waits - before.stream_waits) / rounds) + " per round",
         short_number(static_cast<double>(after.event_waits - before.event_waits) / rounds / micro_batches) +
             " per micro-batch",
         "for streams; for the copy two micro-batches before"});
}

void time(Training& training, const std::string& what) {
  const double eight = training.round_seconds(8), sixteen = training.round_seconds(16);
  print({"steady " + what + ": one micro-batch", short_number((sixteen - eight) / 8 * 1e6) + " us",
         short_number((2 * eight - sixteen) * 1e6) + " us per round in addition", ""});
}

}  // namespace

std::vector<Case> steady_cases() {
  const GpuModel& model = gpu_model(measures() ? "resnet18" : "mlp");
  return {{"steady " + model.name, [&model] {
             Training training(model, measures() ? 256 : 1, Precision::float32);
             count(training, model.name);
             if (measures()) return time(training, model.name);
             print({"steady " + model.name + ": one micro-batch", "", "",
                    "times on the host executor are meaningless"});
           }}};
}

}  // namespace steelyard::bench
