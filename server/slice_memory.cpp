#include "server/slice_memory.h"

#include "core/check.h"
#include "nn/optimizer/vector.h"

namespace steelyard {

SliceMemory::SliceMemory(const Slice& place, const Range& range, std::uint32_t state_slots)
    : place_(place), range_(range), pool_(place.size()), state_(state_slots) {}

bool SliceMemory::load(std::uint32_t slot, std::uint64_t version, std::uint64_t steps, const Blob& values) {
  if (slot > state_.size() || !values.holds_floats(place_.size())) return false;
  if (slot == 0) {
    current_ = values;
  } else {
    state_[slot - 1].assign(values.floats().begin(), values.floats().end());
  }
  version_ = version;
  steps_ = steps;
  slots_loaded_ |= 1U << slot;
  return true;
}

bool SliceMemory::loaded() const { return slots_loaded_ == (2U << state_.size()) - 1; }

bool SliceMemory::add(Interval positions, double weight, const Blob& values) {
  CHECK(values.holds_floats(place_.size()), "the shard checks a push before it adds it");
  if (!coverage_.add_if_absent(positions)) return false;
  weight_ += weight;
  if (first_.empty()) {
    first_ = values;
    return true;
  }
  const std::span<float> so_far = sum_ ? sum_->span() : first_.floats_to_write_over();
  if (!so_far.empty()) {
    nn::add(so_far, values.floats());
  } else {
    sum_ = pool_.take();
    nn::sum(sum_->span(), first_.floats(), values.floats());
  }
  return true;
}

std::span<const float> SliceMemory::sum() const {
  return sum_ ? std::as_const(*sum_).span() : first_.floats();
}

double SliceMemory::sum_of_squares() const { return nn::sum_of_squares(sum()) / (weight_ * weight_); }

void SliceMemory::apply(const nn::Optimizer& optimizer, double rate, double scale) {
  CHECK(weight_ > 0, "a covered slice has a weight");
  const std::shared_ptr<FloatBuffer> next = pool_.take();
  const nn::Update update{next->span(), current_.floats(), sum(), scale / weight_};
  switch (range_.rule) {
    case Rule::step:
      nn::step(optimizer, update, state_.empty() ? std::span<float>() : std::span(state_[0]), rate,
               range_.decay);
      break;
    case Rule::mean:
      nn::mean_step(update);
      break;
    case Rule::ema:
      nn::ema_step(update, optimizer.momentum);
      break;
  }
  ++steps_;
  advance(Blob::of_floats(next, next->span()));
}

void SliceMemory::advance(Blob next) {
  previous_ = std::exchange(current_, std::move(next));
  ++version_;
  coverage_.clear();
  weight_ = 0;
  first_ = {};
  sum_.reset();
}

Blob SliceMemory::copy_of(std::uint32_t slot) const {
  return slot == 0 ? current_ : Blob::copy_of(state_[slot - 1]);
}

}  // namespace steelyard
