#include "server/slice_memory.h"

#include <algorithm>

#include "core/check.h"
#include "nn/optimizer/vector.h"

namespace steelyard {
namespace {

Blob blob_of(const FlatPool::Part& part) {
  return {part.owner, std::as_bytes(std::span<const float>(part.values)), part.segment};
}

}  // namespace

SliceMemory::SliceMemory(const Slice& place, const Range& range, std::uint32_t state_slots, bool ordered)
    : place_(place), range_(range), ordered_(ordered), pool_(place.size()), state_(state_slots) {}

void SliceMemory::make_versions_in(std::shared_ptr<FlatPool> pool, std::uint64_t floats) {
  versions_ = std::move(pool);
  floats_ = floats;
}

FlatPool::Part SliceMemory::room(std::uint64_t steps) {
  if (versions_) return versions_->take(floats_, place_.begin, place_.size(), steps);
  const std::shared_ptr<FloatBuffer> buffer = pool_.take();
  return {buffer, buffer->span(), nullptr};
}

bool SliceMemory::load(std::uint32_t slot, std::uint64_t version, std::uint64_t steps, const Blob& values) {
  if (slot > state_.size() || !values.holds_floats(place_.size())) return false;
  if (slot == 0) {
    current_ = values;
    if (versions_) {  // what came over the wire lies where nobody else can read it
      const FlatPool::Part own = room(steps);
      std::ranges::copy(values.floats(), own.values.begin());
      current_ = blob_of(own);
    }
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
  if (ordered_) {
    waiting_.emplace(positions.begin, values);
  } else {
    accumulate(values);
  }
  return true;
}

void SliceMemory::add_what_waits() {
  for (const auto& [begin, values] : std::exchange(waiting_, {})) accumulate(values);
}

void SliceMemory::accumulate(const Blob& values) {
  if (first_.empty()) {
    first_ = values;
    return;
  }
  const std::span<float> so_far = sum_ ? sum_->span() : first_.floats_to_write_over();
  if (!so_far.empty()) {
    nn::add(so_far, values.floats());
  } else {
    sum_ = pool_.take();
    nn::sum(sum_->span(), first_.floats(), values.floats());
  }
}

std::span<const float> SliceMemory::sum() const {
  return sum_ ? std::as_const(*sum_).span() : first_.floats();
}

double SliceMemory::sum_of_squares() {
  add_what_waits();
  return nn::sum_of_squares(sum()) / (weight_ * weight_);
}

void SliceMemory::apply(const nn::Optimizer& optimizer, double rate, double scale) {
  CHECK(weight_ > 0, "a covered slice has a weight");
  add_what_waits();
  advance(stepped(optimizer, sum(), rate, scale / weight_));
}

// An optimizer may keep less state than the slice has room for: local steps keep none here.
Blob SliceMemory::stepped(const nn::Optimizer& optimizer, std::span<const float> sum, double rate,
                          double scale) {
  const FlatPool::Part next = room(steps_ + 1);
  const nn::Update update{next.values, current_.floats(), sum, scale};
  const bool stateless = state_.empty() || nn::state_slots(optimizer) == 0;
  switch (range_.rule) {
    case Rule::step:
      nn::step(optimizer, update, stateless ? std::span<float>() : std::span(state_[0]), rate, range_.decay);
      break;
    case Rule::mean:
      nn::mean_step(update);
      break;
    case Rule::ema:
      nn::ema_step(update, optimizer.momentum);
      break;
  }
  ++steps_;
  return blob_of(next);
}

bool SliceMemory::cover(std::uint64_t round, Interval positions) {
  CHECK(round >= version_, "the shard checks a push before it is entered");
  return (round == version_ ? coverage_ : ahead_[round]).add_if_absent(positions);
}

bool SliceMemory::covers(std::uint64_t round, Interval positions) const {
  if (round <= version_) return round < version_ || coverage_.contains(positions);
  const auto ledger = ahead_.find(round);
  return ledger != ahead_.end() && ledger->second.contains(positions);
}

void SliceMemory::apply_now(const nn::Optimizer& optimizer, const Blob& values, double rate, double scale) {
  current_ = stepped(optimizer, values.floats(), rate, scale);
}

void SliceMemory::next_version() {
  ++version_;
  const auto next = ahead_.find(version_);
  coverage_ = next == ahead_.end() ? IntervalSet() : std::move(next->second);
  ahead_.erase(version_);
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
