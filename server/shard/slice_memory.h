// One slice of the model as a shard holds it: the current version, the one before, the optimizer's state, and
// for the open round its sum and its coverage ledger.
//
// The ledger is the rule from which the rest follows: a push is added if none of its positions is covered,
// and dropped otherwise; the slice is covered when the positions needed are all in. Duplicates, late copies,
// a dead worker's share computed again by others: here alone it is decided whether a push counts. What it
// then does to the parameters is decided by the CloseRule.
//
// Versions are immutable blobs, sent without a copy. Owned and used by one shard, on one thread.
#pragma once

#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "core/buffer_pool.h"
#include "core/flat_pool.h"
#include "core/interval.h"
#include "core/layout.h"
#include "nn/optimizer/rule.h"
#include "protocol/blob.h"
#include "protocol/messages.h"

namespace steelyard {

class SliceMemory {
 public:
  // `state_slots` buffers of optimizer state belong to each slice. With `ordered`, pushes are kept
  // until the slice is covered and then added in the order of their positions: the same pieces make the
  // same sum, bit for bit.
  SliceMemory(const Slice& place, const Range& range, std::uint32_t state_slots, bool ordered = false);
  // Versions are made in this pool from now on, at the slice's place in a model of so many floats.
  void make_versions_in(std::shared_ptr<FlatPool> pool, std::uint64_t floats);

  [[nodiscard]] const Slice& place() const { return place_; }
  // Whether it is a part of a tensor that is stepped as a whole (apply_together).
  [[nodiscard]] bool in_norm_group() const { return range_.norm_group != 0; }
  // Whether gradients are pushed, rather than differences of parameters or statistics.
  [[nodiscard]] bool takes_gradients() const { return range_.rule == Rule::step; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  // The state to begin with, slot by slot (0: parameters). False if slot or size do not fit.
  bool load(std::uint32_t slot, std::uint64_t version, std::uint64_t steps, const Blob& values);
  // What the version before was, of a slice that others have computed from. False if the size does not fit.
  bool load_previous(const Blob& values);
  [[nodiscard]] bool loaded() const { return slots_loaded_ == (2U << slots_) - 1; }
  [[nodiscard]] unsigned loaded_slots() const { return static_cast<unsigned>(std::popcount(slots_loaded_)); }

  // Adds a push of the open round, unless any of its positions is covered already: false,
  // and nothing changes.
  bool add(Interval positions, double weight, const Blob& values);
  [[nodiscard]] const IntervalSet& coverage() const { return coverage_; }
  // Where pushes are applied as they arrive, rounds are open beside each other and each has its ledger.
  // cover() enters a push, as add() does but for the sum; gather() adds it to the sum; step() takes the step
  // that what was gathered is good for, and leaves the version as it is: a whole update weighs `whole`, or as
  // much as was gathered. next_version() says that all of the oldest open round is in.
  bool cover(std::uint64_t round, Interval positions);
  [[nodiscard]] bool covers(std::uint64_t round, Interval positions) const;
  void gather(Interval positions, double weight, const Blob& values);
  [[nodiscard]] std::uint64_t gathered() const { return gathered_; }  // positions, since the last step
  // Nothing of an open round is in any ledger or sum.
  [[nodiscard]] bool untouched() const;
  void step(const nn::Optimizer& optimizer, double rate, std::optional<double> whole = {});
  void next_version();
  // A push as it is to be gathered in place of what came, made by `change(out)`.
  [[nodiscard]] Blob changed(const std::function<void(std::span<float>)>& change);
  // Of the gradient, the average over what has been added: sum of (sum / weight)^2. 0 where none is pushed.
  [[nodiscard]] double sum_of_squares();

  // Another one at this place, without optimizer state, which begins with the parameters that this one has.
  [[nodiscard]] SliceMemory copy() const;
  // Ends the round without a step: the next version is the same.
  void stand();
  // The current version, which nobody has seen yet, becomes what is made by `make(out)`.
  void replace(const std::function<void(std::span<float>)>& make);

  // Ends the round: the next version is computed from the sum, and the ledger is cleared. The version before
  // stays available until release_previous().
  void apply(const nn::Optimizer& optimizer, double rate, double scale);
  // The same of all slices of a tensor that is stepped with its norm.
  static void apply_together(std::span<SliceMemory> tensor, const nn::Optimizer& optimizer, double rate,
                             double scale);

  [[nodiscard]] Blob current() const { return current_; }
  [[nodiscard]] const std::optional<Blob>& previous() const { return previous_; }
  void release_previous() { previous_.reset(); }
  // The last slot of state, where there is any.
  [[nodiscard]] std::span<float> last_slot() {
    return std::span(state_).last(state_.empty() ? 0 : place_.size());
  }
  [[nodiscard]] std::span<const float> last_slot() const {
    return std::span(state_).last(state_.empty() ? 0 : place_.size());
  }
  [[nodiscard]] std::uint32_t slots() const { return 1 + slots_; }  // of state, parameters included
  // A copy of a slot as it is now: parameters by reference, optimizer state by value.
  [[nodiscard]] Blob copy_of(std::uint32_t slot) const;

 private:
  [[nodiscard]] FlatPool::Part room(std::uint64_t steps);  // for the values after so many
  [[nodiscard]] Blob stepped(const nn::Optimizer& optimizer, std::span<const float> sum,
                             std::span<const float> last, double rate, double scale, double weight,
                             double whole);
  void accumulate(const Blob& values);
  void add_what_waits();
  void add_last();
  void advance(Blob next);
  void forget_sum();
  [[nodiscard]] std::span<const float> sum() const;

  const Slice place_;
  const Range range_;
  const bool ordered_;
  BufferPool pool_;                     // for sums, and for versions if there is no other
  std::shared_ptr<FlatPool> versions_;  // may be null
  std::uint64_t floats_ = 0;            // of its buffers

  std::uint64_t version_ = 0;
  std::uint64_t steps_ = 0;
  std::uint32_t slots_loaded_ = 0;  // bit i: slot i has been loaded
  Blob current_;
  std::optional<Blob> previous_;
  const std::uint32_t slots_;
  std::vector<float> state_;  // slot after slot

  // Of the open round. The first push and the last one are kept as they came: the last is added when the step
  // is taken, in the same sweep over memory. Those between are added to the first where it lies, if it was
  // received into memory of our own; otherwise into a sum.
  IntervalSet coverage_;
  std::map<Position, Blob> waiting_;            // if ordered: pushes by their first position
  std::map<std::uint64_t, IntervalSet> ahead_;  // of the rounds that are open beyond it
  std::uint64_t gathered_ = 0;
  double weight_ = 0;
  Blob first_, last_;
  std::shared_ptr<FloatBuffer> sum_;
};

// Itself, or all of its norm group among a shard's slices: they close together and have one version.
std::span<SliceMemory> closing_with(SliceMemory& slice, std::vector<SliceMemory>& all);

// What slices miss of a round that is open, as a shard tells it in its heartbeats.

// Of the slices that have not closed it: each gap once and none joined, the first ones. Two slices that miss
// a half of a piece each are not repaired by pushing the whole again.
std::vector<Interval> first_gaps(const BeginRound& open, std::span<const SliceMemory> slices);

// The skipped of a round (BeginRound::skipped, under backup workers): what lies between its positions and is
// of other rounds counts as covered in every slice, so it is neither missed nor added, whoever pushes it.

// Enters them in the ledgers, once, before anything of the round is added. False, and no change, if they
// make no sense, or if some slice has not the round's version: somebody has computed from it where there are
// skipped.
bool cover_holes(const BeginRound& open, std::span<SliceMemory> slices);

}  // namespace steelyard
