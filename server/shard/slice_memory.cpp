#include "server/shard/slice_memory.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/check.h"
#include "protocol/limits.h"

namespace steelyard {
SliceMemory::SliceMemory(const Slice& place, const Range& range, std::uint32_t state_slots, bool ordered,
                         std::shared_ptr<nn::SliceArithmetic> arithmetic)
    : place_(place),
      range_(range),
      ordered_(ordered),
      changed_(place.size()),
      arithmetic_(arithmetic ? std::move(arithmetic) : std::make_shared<nn::HostArithmetic>(place.size())),
      slots_(state_slots) {
  if (slots_ > 0) state_ = arithmetic_->zeros(slots_ * place.size());
}

SliceMemory::Room SliceMemory::room(std::uint64_t steps) { return arithmetic_->version_room(steps); }

Blob SliceMemory::frozen(const Room& room) {
  if (auto device = arithmetic_->frozen(room)) return Blob(std::move(device));
  return {room.owner, std::as_bytes(std::span<const float>(room.values)), room.segment};
}

std::span<float> SliceMemory::slot(std::uint32_t number) const {
  return state_.values.subspan((number - 1) * place_.size(), place_.size());
}

bool SliceMemory::load(std::uint32_t slot_number, std::uint64_t version, std::uint64_t steps,
                       const Blob& values) {
  if (slot_number > slots_ || !values.holds_floats(place_.size())) return false;
  const Readable received = arithmetic_->read(values.values());
  if (slot_number == 0 && !arithmetic_->needs_rooms()) {
    current_ = values;
  } else if (slot_number == 0) {
    const Room own = room(steps);
    arithmetic_->copy(own.values, received.values);
    current_ = frozen(own);
  } else {
    arithmetic_->copy(slot(slot_number), received.values);
  }
  version_ = version;
  steps_ = steps;
  slots_loaded_ |= 1U << slot_number;
  return true;
}

bool SliceMemory::load_previous(const Blob& values) {
  if (!values.holds_floats(place_.size())) return false;
  previous_ = values;
  return true;
}

bool SliceMemory::add(Interval positions, double weight, const Blob& values, bool closes) {
  CHECK(values.holds_floats(place_.size()), "the shard checks a push before it adds it");
  if (!coverage_.add_if_absent(positions)) return false;
  weight_ += weight;
  if (ordered_) {
    waiting_.emplace(positions.begin, values);
  } else {
    accumulate(values, closes);
  }
  return true;
}

void SliceMemory::add_what_waits() {
  for (const auto& [begin, values] : std::exchange(waiting_, {})) accumulate(values, true);
}

void SliceMemory::accumulate(const Blob& values, bool closes) {
  if (first_.empty()) {
    first_ = values;
    return;
  }
  add_last();
  last_ = values;
  if (!closes) add_last();
}

template <class Body>
void SliceMemory::in_parts(Body body) const {
  const std::size_t all = place_.size(), part = arithmetic_->part_size();
  for (std::size_t at = 0; at < all; at += part) body(at, std::min(part, all - at));
}

SliceMemory::Addition SliceMemory::take_last() {
  if (last_.empty()) return {};
  Addition it{std::exchange(last_, {}), {}, {}, {}};
  it.last = arithmetic_->read(it.pushed.values());
  it.sum = sum_ ? sum_->values : arithmetic_->in_place(first_.floats_to_write_over());
  if (!it.sum.empty()) return it;
  sum_ = arithmetic_->sum_room();
  it.sum = sum_->values;
  it.first = arithmetic_->read(first_.values());
  return it;
}

void SliceMemory::add_part(const Addition& it, std::size_t at, std::size_t size) {
  if (it.last.values.empty()) return;
  const std::span<float> sum = it.sum.subspan(at, size);
  const std::span<const float> last = it.last.values.subspan(at, size);
  if (it.first.values.empty()) {
    arithmetic_->add(sum, last);
  } else {
    arithmetic_->sum(sum, it.first.values.subspan(at, size), last);
  }
}

void SliceMemory::add_last() { add_part(take_last(), 0, place_.size()); }

SliceMemory::Readable SliceMemory::sum() const {
  if (sum_) return {sum_->values, sum_->owner};
  return arithmetic_->read(first_.values());
}

bool SliceMemory::all_finite(const Blob& values) const { return arithmetic_->all_finite(values.values()); }

double SliceMemory::squares_of(const Blob& values) const {
  nn::SquareSum squares;
  arithmetic_->add_squares(arithmetic_->read(values.values()).values, squares);
  return squares.total();
}

double SliceMemory::sum_of_squares() {
  add_what_waits();
  if (!takes_gradients()) return 0;
  nn::SquareSum squares;
  const Addition last = take_last();
  const Readable all = sum();
  in_parts([&](std::size_t at, std::size_t size) {
    add_part(last, at, size);
    arithmetic_->add_squares(all.values.subspan(at, size), squares);
  });
  return squares.total() / (weight_ * weight_);
}

void SliceMemory::apply(const nn::Optimizer& optimizer, double rate, double scale) {
  CHECK(weight_ > 0, "a covered slice has a weight");
  const bool together = waiting_.size() >= 3 && first_.empty() && !nn::needs_norms(optimizer) &&
                        arithmetic_->part_size() < place_.size();
  if (!together) add_what_waits();
  if (nn::needs_norms(optimizer)) add_last();
  advance(stepped(optimizer, rate, scale, weight_, weight_));
}

void SliceMemory::apply_together(std::span<SliceMemory> tensor, const nn::Optimizer& optimizer, double rate,
                                 double scale) {
  const Range& range = tensor[0].range_;
  const nn::TensorCalls calls(optimizer, range.decay);
  nn::SquareSum parameters, directions;
  struct Part {
    Room next;
    Readable w, sum;
    nn::Update update{};
  };
  std::vector<Part> parts;
  for (SliceMemory& slice : tensor) {
    CHECK(slice.weight_ == tensor[0].weight_ && slice.steps_ == tensor[0].steps_,
          "the slices of a tensor are covered by the same positions");
    slice.add_what_waits();
    const Addition last = slice.take_last();
    Part& part = parts.emplace_back(
        Part{slice.room(slice.steps_ + 1), slice.arithmetic_->read(slice.current_.values()), slice.sum()});
    const nn::Update& update =
        part.update = {part.next.values, part.w.values, part.sum.values, scale / slice.weight_, slice.steps_};
    const std::optional<nn::RuleCall> measure = calls.measure(update, slice.state_.values);
    slice.in_parts([&](std::size_t at, std::size_t size) {
      slice.add_part(last, at, size);
      if (measure) slice.arithmetic_->run(nn::part_of(*measure, at, size));
      slice.arithmetic_->add_squares(update.parameters.subspan(at, size), parameters);
      slice.arithmetic_->add_squares(calls.direction(update).subspan(at, size), directions);
    });
  }
  const double ratio = calls.ratio(parameters.total(), directions.total(), parts[0].update.scale);
  for (std::size_t i = 0; i < tensor.size(); ++i) {
    SliceMemory& slice = tensor[i];
    slice.arithmetic_->run(calls.finish(parts[i].update, slice.state_.values, rate * range.rate, ratio));
    ++slice.steps_;
    slice.advance(slice.frozen(parts[i].next));
  }
}

// state_ may contain other state after the optimizer's. A push that is a part of an update is the same part
// of a sum (Rule::mean divides by the whole weight). For running averages (ema) it is a full sample, and its
// factor `keep` is chosen so that n parts of a round keep as much of the old average as one whole update.
Blob SliceMemory::stepped(const nn::Optimizer& optimizer, double rate, double scale, double weight,
                          double whole) {
  const Room next = room(steps_ + 1);
  const Blob& first = waiting_.empty() ? first_ : waiting_.begin()->second;
  const Blob& latest = waiting_.empty() ? last_ : waiting_.rbegin()->second;
  const Readable w = arithmetic_->read(current_.values());
  const Readable all = sum_ ? sum() : arithmetic_->read(first.values());
  const Readable last = latest.empty() ? Readable{} : arithmetic_->read(latest.values());
  nn::Update update{next.values, w.values, all.values, scale / whole, steps_, last.values};
  const std::span<float> its_state = state_.values.first(nn::state_slots(optimizer) * place_.size());
  const auto run = [&](const nn::RuleCall& call) {
    waiting_.empty() ? arithmetic_->run(call) : run_over_waiting(call);
  };
  switch (range_.rule) {
    case Rule::step:
      nn::step_by(run, optimizer, update, its_state, rate * range_.rate, range_.decay);
      break;
    case Rule::mean:
      update.scale = 1 / whole;  // clipping concerns gradients only
      run(nn::steps_on_workers(optimizer) ? nn::step_call(optimizer, update, {}, 0, 0)
                                          : nn::mean_call(update));
      break;
    case Rule::ema:
      update.scale = 1 / weight;
      run(nn::ema_call(update, std::pow(range_.keep, weight / whole)));
      break;
  }
  ++steps_;
  return frozen(next);
}

void SliceMemory::run_over_waiting(const nn::RuleCall& call) {
  std::vector<Readable> pushes;
  for (const auto& [begin, values] : waiting_) pushes.push_back(arithmetic_->read(values.values()));
  const Room room = arithmetic_->sum_room();
  in_parts([&](std::size_t at, std::size_t size) {
    const auto part_of_push = [&](std::size_t i) { return pushes[i].values.subspan(at, size); };
    const std::span<float> sum = room.values.first(size);
    arithmetic_->sum(sum, part_of_push(0), part_of_push(1));
    for (std::size_t i = 2; i + 1 < pushes.size(); ++i) arithmetic_->add(sum, part_of_push(i));
    nn::RuleCall part = nn::part_of(call, at, size);
    part.sum = sum.data();
    if (call.w == call.sum) part.w = part.sum;
    arithmetic_->run(part);
  });
  waiting_.clear();
}

SliceMemory SliceMemory::copy() const {
  SliceMemory other(place_, range_, 0, ordered_);
  other.load(0, version_, steps_, current_);
  return other;
}

void SliceMemory::stand() { advance(Blob(current_)); }

void SliceMemory::replace(const std::function<void(std::span<float>)>& make) {
  const Room next = room(++steps_);
  arithmetic_->change(next.values, false, make);
  current_ = frozen(next);
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

void SliceMemory::gather(Interval positions, double weight, const Blob& values, bool closes) {
  gathered_ += positions.size();
  weight_ += weight;
  accumulate(values, closes);
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
    gather(push->piece.positions, push->weight, push->values, push + 1 == end);
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
  current_ = stepped(optimizer, rate, 1, weight_, whole.value_or(weight_));
  forget_sum();
}

Blob SliceMemory::changed(const std::function<void(std::span<float>)>& change) {
  const std::shared_ptr<FloatBuffer> buffer = changed_.take();
  change(buffer->span());
  return Blob::of_floats(buffer, buffer->span());
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

Blob SliceMemory::copy_of(std::uint32_t slot_number) const {
  if (slot_number == 0) return current_;
  auto copy = std::make_shared<std::vector<float>>(place_.size());
  arithmetic_->copy_out(*copy, slot(slot_number));
  const std::span<const float> view(*copy);
  return Blob::of_floats(std::move(copy), view);
}

void SliceMemory::change_last_slot(const std::function<void(std::span<float>)>& change) {
  arithmetic_->change(slot(slots_), true, change);
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
