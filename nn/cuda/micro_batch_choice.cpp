#include "nn/cuda/micro_batch_choice.h"

#include <algorithm>

#include "nn/cuda_devices.h"

namespace steelyard::nn::cuda {
namespace {

constexpr std::uint32_t most = 4096;
constexpr std::uint64_t most_bytes = 128 << 20;
constexpr double least_gain = 1.03;

}  // namespace

std::uint32_t most_samples(const Model& model) {
  std::uint32_t samples = usual_samples;
  while (samples < most && 2 * samples * model.input().size() * sizeof(float) <= most_bytes) samples *= 2;
  return samples;
}

std::uint32_t fast_enough(const std::vector<MicroBatchTime>& times) {
  const auto rate = [](const MicroBatchTime& it) { return it.size / it.seconds; };
  auto chosen =
      std::ranges::find_if(times, [](const MicroBatchTime& it) { return it.size <= usual_samples; });
  while (chosen != times.begin() && rate(*std::prev(chosen)) >= least_gain * rate(*chosen)) --chosen;
  return chosen->size;
}

ChosenNetwork choose_network(const Model& model, unsigned index, std::uint64_t reserved) {
  const auto with = [&](std::uint32_t samples) {
    return std::make_unique<Network>(model, index, samples, built_with_cuda(), reserved);
  };
  if (!built_with_cuda() || model.normalizes_shares()) return {with(usual_samples), {}};
  ChosenNetwork chosen{with(most_samples(model)), {}};
  chosen.times = chosen.network->measure();
  const std::uint32_t size = fast_enough(chosen.times);
  if (size == chosen.times.front().size) return chosen;
  chosen.network.reset();  // frees its memory first
  chosen.network = with(size);
  chosen.times = chosen.network->measure();  // its implementations may be others
  return chosen;
}

}  // namespace steelyard::nn::cuda
