#include "server/shard/slice_memory.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/check.h"
#include "nn/optimizer/vector.h"
#include "protocol/limits.h"

namespace steelyard {
namespace {

Blob blob_of(const FlatPool::Part& part) {
  return {part.owner, std::as_bytes(std::span<const float>(part.values)), part.segment};
}

}  // namespace

SliceMemory::SliceMemory(const Slice& place, const Range& range, std::uint32_t state_slots, bool ordered)
    : place_(place),
      range_(range),
      ordered_(ordered),
      pool_(place.size()),
      slots_(state_slots),
      state_(slots_ * place.size()) {}

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
  if (slot > slots_ || !values.holds_floats(place_.size())) return false;
  if (slot == 0) {
    current_ = values;
    if (versions_) {  // received values are in private memory
      const FlatPool::Part own = room(steps);
      std::ranges::copy(values.floats(), own.values.begin());
      current_ = blob_of(own);
    }
  } else {
    std::ranges::copy(values.floats(),
                      state_.begin() + static_cast<std::ptrdiff_t>((slot - 1) * place_.size()));
  }
  version_ = version;
  steps_ = steps;
  slots_loaded_ |= 1U << slot;
  return true;
}

bool SliceMemory::load_previous(const Blob& values) {
  if (!values.holds_floats(place_.size())) return false;
  previous_ = values;
  return true;
}

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
  } else {
    add_last();
    last_ = values;
  }
}

void SliceMemory::add_last() {
  if (last_.empty()) return;
  const Blob values = std::exchange(last_, {});
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
  add_last();
  if (!takes_gradients()) return 0;
  return nn::sum_of_squares(sum()) / (weight_ * weight_);
}

void SliceMemory::apply(const nn::Optimizer& optimizer, double rate, double scale) {
  CHECK(weight_ > 0, "a covered slice has a weight");
  add_what_waits();
  if (nn::needs_norms(optimizer)) add_last();
  advance(stepped(optimizer, sum(), last_.floats(), rate, scale, weight_, weight_));
}

void SliceMemory::apply_together(std::span<SliceMemory> tensor, const nn::Optimizer& optimizer, double rate,
                                 double scale) {
  const Range& range = tensor[0].range_;
  nn::TensorStep step(optimizer, range.decay);
  std::vector<FlatPool::Part> next;
  const auto update = [&](const SliceMemory& slice, std::size_t i) {
    return nn::Update{next[i].values, slice.current_.floats(), slice.sum(), scale / slice.weight_,
                      slice.steps_};
  };
  for (SliceMemory& slice : tensor) {
    CHECK(slice.weight_ == tensor[0].weight_ && slice.steps_ == tensor[0].steps_,
          "the slices of a tensor are covered by the same positions");
    slice.add_what_waits();
    slice.add_last();
    next.push_back(slice.room(slice.steps_ + 1));
    step.measure(update(slice, next.size() - 1), slice.state_);
  }
  const double ratio = step.ratio();
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    SliceMemory& slice = tensor[i];
    step.finish(update(slice, i), slice.state_, rate * range.rate, ratio);
    ++slice.steps_;
    slice.advance(blob_of(next[i]));
  }
}

// state_ may contain other state after the optimizer's. A push that is a part of an update is the same part
// of a sum (Rule::mean divides by the whole weight). For running averages (ema) it is a full sample, and its
// factor `keep` is chosen so that n parts of a round keep as much of the old average as one whole update.
Blob SliceMemory::stepped(const nn::Optimizer& optimizer, std::span<const float> sum,
                          std::span<const float> last, double rate, double scale, double weight,
                          double whole) {
  const FlatPool::Part next = room(steps_ + 1);
  nn::Update update{next.values, current_.floats(), sum, scale / whole, steps_, last};
  const std::span<float> its_state(state_.data(), nn::state_slots(optimizer) * place_.size());
  switch (range_.rule) {
    case Rule::step:
      nn::step(optimizer, update, its_state, rate * range_.rate, range_.decay);
      break;
    case Rule::mean:
      update.scale = 1 / whole;  // clipping concerns gradients only
      if (nn::steps_on_workers(optimizer)) {
        nn::step(optimizer, update, {}, 0, 0);
      } else {
        nn::mean_step(update);
      }
      break;
    case Rule::ema:
      update.scale = 1 / weight;
      nn::ema_step(update, std::pow(range_.keep, weight / whole));
      break;
  }
  ++steps_;
  return blob_of(next);
}

SliceMemory SliceMemory::copy() const {
  SliceMemory other(place_, range_, 0, ordered_);
  other.load(0, version_, steps_, current_);
  return other;
}

void SliceMemory::stand() { advance(Blob(current_)); }

void SliceMemory::replace(const std::function<void(std::span<float>)>& make) {
  const FlatPool::Part next = room(++steps_);
  make(next.values);
  current_ = blob_of(next);
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

void SliceMemory::gather(Interval positions, double weight, const Blob& values) {
  gathered_ += positions.size();
  weight_ += weight;
  accumulate(values);
}

void SliceMemory::wait(WaitingPush push) {
  waiting_positions_ += push.piece.positions.size();
  waiting_pushes_.push_back(std::move(push));
}

void SliceMemory::gather_oldest(std::size_t count) {
  const auto end =
      waiting_pushes_.begin() + static_cast<std::ptrdiff_t>(std::min(count, waiting_pushes_.size()));
  for (auto push = waiting_pushes_.begin(); push != end; ++push) {
    waiting_positions_ -= push->piece.positions.size();
    gather(push->piece.positions, push->weight, push->values);
  }
  waiting_pushes_.erase(waiting_pushes_.begin(), end);
}

bool SliceMemory::waits(std::uint64_t round, Interval positions) const {
  return std::ranges::any_of(waiting_pushes_, [&](const WaitingPush& push) {
    return push.piece.round == round && push.piece.positions.overlaps(positions);
  });
}

bool SliceMemory::owes_a_step() const {
  return gathered_ > 0 || std::ranges::any_of(waiting_pushes_, [&](const WaitingPush& push) {
           return push.piece.round == version_;
         });
}

void SliceMemory::step(const nn::Optimizer& optimizer, double rate, std::optional<double> whole) {
  current_ = stepped(optimizer, sum(), last_.floats(), rate, 1, weight_, whole.value_or(weight_));
  forget_sum();
}

Blob SliceMemory::changed(const std::function<void(std::span<float>)>& change) {
  const std::shared_ptr<FloatBuffer> buffer = pool_.take();
  change(buffer->span());
  return blob_of({buffer, buffer->span(), nullptr});
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
  forget_sum();
}

bool SliceMemory::untouched() const {
  return coverage_.count() == 0 && gathered() == 0 && waiting_.empty() &&
         std::ranges::all_of(ahead_, [](const auto& round) { return round.second.count() == 0; });
}

void SliceMemory::forget_sum() {
  gathered_ = 0;
  weight_ = 0;
  first_ = {};
  last_ = {};
  sum_.reset();
}

Blob SliceMemory::copy_of(std::uint32_t slot) const {
  return slot == 0 ? current_
                   : Blob::copy_of(std::span(state_).subspan((slot - 1) * place_.size(), place_.size()));
}

std::span<SliceMemory> closing_with(SliceMemory& slice, std::vector<SliceMemory>& all) {
  if (!slice.in_norm_group()) return {&slice, 1};
  const auto its = std::ranges::equal_range(all, slice.place().range, {},
                                            [](const SliceMemory& other) { return other.place().range; });
  return {its.begin(), its.end()};
}

std::vector<Interval> first_gaps(const BeginRound& open, std::span<const SliceMemory> slices) {
  std::set<Interval> gaps;
  for (const SliceMemory& slice : slices) {
    if (slice.version() > open.round) continue;
    for (const Interval& gap : slice.coverage().gaps(open.positions, limits::gaps)) gaps.insert(gap);
    while (gaps.size() > limits::gaps) gaps.erase(std::prev(gaps.end()));
  }
  return {gaps.begin(), gaps.end()};
}

bool cover_holes(const BeginRound& open, std::span<SliceMemory> slices) {
  if (open.skipped.empty()) return true;
  IntervalSet skipped;
  for (const Interval& part : open.skipped) {
    if (!part.valid() || part.empty() || !open.positions.contains(part) || !skipped.add_if_absent(part))
      return false;
  }
  const auto is_at = [&](const SliceMemory& it) { return it.version() == open.round; };
  if (skipped.count() >= open.positions.size() || !std::ranges::all_of(slices, is_at)) return false;
  for (SliceMemory& slice : slices) {
    for (const Interval& part : skipped.intervals()) slice.cover(open.round, part);
  }
  return true;
}

}  // namespace steelyard
