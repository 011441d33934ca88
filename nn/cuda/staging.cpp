#include "nn/cuda/staging.h"

#include <algorithm>

#include "core/check.h"

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
  fill(batch, slot);
  upload_.wait(slot.taken);
  if (batch.kept != nullptr) upload_.copy_array(slot.kept.data(), slot.pinned_kept.data(), batch.count);
  copy(upload_, slot.device, slot.pinned, batch);
  slot.arrived.record(upload_);
  compute.wait(slot.arrived);
  if (batch.kept != nullptr)
    kept_->show(compute, slot.kept.data(), batch.size, batch.count, place_.inputs.data());
  copy(compute, place_, slot.device, batch);
  slot.taken.record(compute);
}

void Staging::fill(const MicroBatch& batch, Slot& slot) const {
  const Arrays<PinnedArray>& to = slot.pinned;
  if (batch.kept != nullptr) {
    const auto is_kept = [&](const KeptSample& it) { return kept_ && it.index < kept_->samples(); };
    CHECK(std::all_of(batch.kept, batch.kept + batch.count, is_kept), "a sample is not kept on the device");
    std::copy_n(batch.kept, batch.count, slot.pinned_kept.data());
  } else {
    float* const inputs = to.inputs.data();
    std::copy_n(batch.inputs, floats_ * batch.count, inputs);
    std::fill_n(inputs + floats_ * batch.count, floats_ * (batch.size - batch.count), 0.0F);
  }
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
  if (batch.kept == nullptr) stream.copy_array(to.inputs.data(), from.inputs.data(), floats_ * batch.size);
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
  return 3 * one + 2 * place_.positions.size() * sizeof(KeptSample);
}

}  // namespace steelyard::nn::cuda
