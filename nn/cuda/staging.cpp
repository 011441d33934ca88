#include "nn/cuda/staging.h"

#include <algorithm>

namespace steelyard::nn::cuda {

Staging::Staging(std::uint64_t floats, std::uint32_t labels, std::uint32_t targets, std::uint32_t samples)
    : floats_(floats),
      labels_(labels),
      targets_(targets),
      place_(floats * samples, std::uint64_t{labels} * samples, std::uint64_t{targets} * samples, samples) {
  for (auto& slot : slots_) {
    slot = std::make_unique<Slot>(floats * samples, std::uint64_t{labels} * samples,
                                  std::uint64_t{targets} * samples, samples);
  }
}

void Staging::bring(const MicroBatch& batch, Stream& compute) {
  Slot& slot = *slots_[turn_ = 1 - turn_];
  slot.arrived.synchronize();  // from its last use: the buffer may still be read
  fill(batch, slot.pinned);
  upload_.wait(slot.taken);
  copy(upload_, slot.device, slot.pinned, batch);
  slot.arrived.record(upload_);
  compute.wait(slot.arrived);
  copy(compute, place_, slot.device, batch);
  slot.taken.record(compute);
}

void Staging::fill(const MicroBatch& batch, const Arrays<PinnedArray>& to) const {
  float* const inputs = to.inputs.data();
  std::copy_n(batch.inputs, floats_ * batch.count, inputs);
  std::fill_n(inputs + floats_ * batch.count, floats_ * (batch.size - batch.count), 0.0F);
  std::copy_n(batch.labels, std::uint64_t{labels_} * batch.count, to.labels.data());
  // Samples for predictions have no targets.
  if (batch.targets != nullptr)
    std::copy_n(batch.targets, std::uint64_t{targets_} * batch.count, to.targets.data());
  std::copy_n(batch.positions, batch.count, to.positions.data());
  std::fill_n(to.positions.data() + batch.count, batch.size - batch.count, std::uint64_t{0});
  *to.numbers.data() = {batch.seed, batch.epoch, batch.count};
}

template <template <class> class From>
void Staging::copy(Stream& stream, const Arrays<DeviceArray>& to, const Arrays<From>& from,
                   const MicroBatch& batch) const {
  stream.copy_array(to.inputs.data(), from.inputs.data(), floats_ * batch.size);
  stream.copy_array(to.labels.data(), from.labels.data(), std::uint64_t{labels_} * batch.count);
  if (targets_ > 0)
    stream.copy_array(to.targets.data(), from.targets.data(), std::uint64_t{targets_} * batch.count);
  stream.copy_array(to.positions.data(), from.positions.data(), batch.size);
  stream.copy_array(to.numbers.data(), from.numbers.data(), 1);
}

std::uint64_t Staging::bytes() const {
  const std::uint64_t one = place_.inputs.size() * sizeof(float) +
                            place_.labels.size() * sizeof(std::uint32_t) +
                            place_.targets.size() * sizeof(float) +
                            place_.positions.size() * sizeof(std::uint64_t) + sizeof(BatchNumbers);
  return 3 * one;
}

}  // namespace steelyard::nn::cuda
