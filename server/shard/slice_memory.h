// One slice of the model in a shard: the current version, the preceding one, the optimizer state, and for the
// open round the sum and the coverage ledger.
//
// The ledger is the set of covered positions. A push is added if none of its positions is covered, and
// dropped otherwise; the slice is covered when all needed positions are. This handles duplicates, late
// copies, and pieces of a lost worker that others compute again. The CloseRule decides how a push changes the
// parameters.
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
#include "core/interval.h"
#include "core/layout.h"
#include "nn/optimizer/rule.h"
#include "nn/optimizer/slice_arithmetic.h"
#include "protocol/blob.h"
#include "protocol/messages.h"

namespace steelyard {

class SliceMemory {
 public:
  // `state_slots`: buffers of optimizer state. With `ordered`, pushes are kept until the slice is covered and
  // then added by position, so that the same pieces have the same sum, bit for bit. `arithmetic`: of this
  // slice alone; null: the processor's, with versions in private memory.
  SliceMemory(const Slice& place, const Range& range, std::uint32_t state_slots, bool ordered = false,
              std::shared_ptr<nn::SliceArithmetic> arithmetic = nullptr);

  [[nodiscard]] const Slice& place() const { return place_; }
  // Whether it is a part of a tensor that is updated as a whole (apply_together).
  [[nodiscard]] bool in_norm_group() const { return range_.norm_group != 0; }
  // Whether pushes are gradients, not differences of parameters or statistics.
  [[nodiscard]] bool takes_gradients() const { return range_.rule == Rule::step; }
  [[nodiscard]] std::uint64_t version() const { return version_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }

  // Loads a slot of the initial state (0: parameters). Returns false if slot or size are wrong.
  bool load(std::uint32_t slot, std::uint64_t version, std::uint64_t steps, const Blob& values);
  // Loads the preceding version, for a slice that some workers still compute from. Returns false if the size
  // is wrong.
  bool load_previous(const Blob& values);
  [[nodiscard]] bool loaded() const { return slots_loaded_ == (2U << slots_) - 1; }
  [[nodiscard]] unsigned loaded_slots() const { return static_cast<unsigned>(std::popcount(slots_loaded_)); }

  // Adds a push of the open round. Returns false, without a change, if any of its positions is covered
  // already. `closes`: a step follows at once, and adds the push in its own sweep over memory; otherwise it
  // is added now, while it is still in the cache.
  bool add(Interval positions, double weight, const Blob& values, bool closes = false);
  [[nodiscard]] const IntervalSet& coverage() const { return coverage_; }
  // Where pushes are applied on arrival, several rounds are open, each with its ledger. cover() only adds a
  // push to the ledger, and returns false as add() does; gather() adds it to the sum (`closes` as in add());
  // step() takes a step with the gathered sum without changing the version number. `whole` is the weight of
  // a whole update; default: the weight of the gathered pushes. next_version() completes the oldest open
  // round.
  bool cover(std::uint64_t round, Interval positions);
  [[nodiscard]] bool covers(std::uint64_t round, Interval positions) const;
  void gather(Interval positions, double weight, const Blob& values, bool closes = false);
  // Positions that have arrived and that no step has applied.
  [[nodiscard]] std::uint64_t gathered() const { return gathered_ + waiting_positions_; }
  // Where pushes wait (SyncMode::wait), wait() keeps a push, and gather_oldest() moves the `count` oldest
  // into the sum, or all. The caller has added them to the ledger.
  struct WaitingPush {
    Contribution piece;
    double weight = 0;
    std::uint64_t steps = 0;  // Push::steps
    Blob values;
  };
  void wait(WaitingPush push);
  [[nodiscard]] const std::vector<WaitingPush>& waiting() const { return waiting_pushes_; }
  void gather_oldest(std::size_t count);
  // Whether a push that overlaps these positions waits.
  [[nodiscard]] bool waits(std::uint64_t round, Interval positions) const;
  // Whether a push that no step has applied may belong to the oldest open round.
  [[nodiscard]] bool owes_a_step() const;
  // Whether neither a ledger nor a sum contains a part of an open round.
  [[nodiscard]] bool untouched() const;
  void step(const nn::Optimizer& optimizer, double rate, std::optional<double> whole = {});
  void next_version();
  // Returns a blob filled by `change(out)`, to be gathered in place of a push's values.
  [[nodiscard]] Blob changed(const std::function<void(std::span<float>)>& change);
  // Squared norm of the average gradient: the sum of squares of sum / weight. 0 if pushes are not gradients.
  [[nodiscard]] double sum_of_squares();

  // These read the values of a push to this slice.
  [[nodiscard]] bool all_finite(const Blob& values) const;
  [[nodiscard]] double squares_of(const Blob& values) const;

  // A slice at the same place with the same parameters, without optimizer state, computed by the processor.
  [[nodiscard]] SliceMemory copy() const;
  // Ends the round without a step: the next version equals the current one.
  void stand();
  // Replaces the current version, which must not have been sent yet, by values that `make(out)` writes.
  void replace(const std::function<void(std::span<float>)>& make);

  // Ends the round: makes the next version from the sum and clears the ledger. The preceding version stays
  // available until release_previous().
  void apply(const nn::Optimizer& optimizer, double rate, double scale);
  // Does the same for all slices of a tensor whose update needs the tensor's norm.
  static void apply_together(std::span<SliceMemory> tensor, const nn::Optimizer& optimizer, double rate,
                             double scale);

  [[nodiscard]] Blob current() const { return current_; }
  [[nodiscard]] const std::optional<Blob>& previous() const { return previous_; }
  void release_previous() { previous_.reset(); }
  // Replaces the last slot of state by what `change`, which gets the old values, leaves there.
  void change_last_slot(const std::function<void(std::span<float>)>& change);
  [[nodiscard]] std::uint32_t slots() const { return 1 + slots_; }  // of state, parameters included
  // A slot's current values: parameters by reference, optimizer state as a copy.
  [[nodiscard]] Blob copy_of(std::uint32_t slot) const;

 private:
  using Room = nn::SliceArithmetic::Room;
  using Readable = nn::SliceArithmetic::Readable;
  [[nodiscard]] Room room(std::uint64_t steps);  // for the values after this many steps
  [[nodiscard]] Blob frozen(const Room& room);
  [[nodiscard]] Blob stepped(const nn::Optimizer& optimizer, double rate, double scale, double weight,
                             double whole);
  void accumulate(const Blob& values, bool closes);
  void add_what_waits();
  // The addition of the last push to the sum, if there is one, to be done part by part.
  struct Addition {
    Blob pushed;           // the last push
    Readable last, first;  // without `first`, the sum already has it
    std::span<float> sum;
  };
  [[nodiscard]] Addition take_last();
  void add_part(const Addition& addition, std::size_t at, std::size_t size);
  void add_last();
  // Calls body(at, size) for the parts of the slice (SliceArithmetic::part_size()), in order.
  template <class Body>
  void in_parts(Body body) const;
  void advance(Blob next);
  void forget_sum();
  [[nodiscard]] Readable sum() const;
  // Runs a step whose call has the first and the last of at least three pushes that wait: part by part, so
  // that their sum stays in the cache.
  void run_over_waiting(const nn::RuleCall& call);
  [[nodiscard]] std::span<float> slot(std::uint32_t number) const;  // of state, from 1 on

  const Slice place_;
  const Range range_;
  const bool ordered_;
  BufferPool changed_;  // on the host
  const std::shared_ptr<nn::SliceArithmetic> arithmetic_;

  std::uint64_t version_ = 0;
  std::uint64_t steps_ = 0;
  std::uint32_t slots_loaded_ = 0;  // bit i: slot i has been loaded
  Blob current_;
  std::optional<Blob> previous_;
  const std::uint32_t slots_;
  Room state_;  // slot after slot

  // The open round. The first push is kept as received, and so is the last, which is added during the step,
  // in the same sweep over memory. Those between are added on arrival: to the first in place, if it was
  // received into memory of this process; otherwise into a sum.
  IntervalSet coverage_;
  std::map<Position, Blob> waiting_;            // if ordered: pushes by their first position
  std::map<std::uint64_t, IntervalSet> ahead_;  // of later open rounds
  std::vector<WaitingPush> waiting_pushes_;     // oldest first
  std::uint64_t waiting_positions_ = 0;         // of waiting_pushes_
  std::uint64_t gathered_ = 0;                  // positions in the sum
  double weight_ = 0;
  Blob first_, last_;
  std::optional<Room> sum_;
};

// The slice, or all slices of its norm group: they close together and always have the same version.
std::span<SliceMemory> closing_with(SliceMemory& slice, std::vector<SliceMemory>& all);

// Gaps of an open round, for the shard's heartbeats.

// The first gaps of slices that have not closed the round, each listed once. They are not merged: a push that
// overlaps covered positions is dropped, so the union of two slices' gaps would repair neither.
std::vector<Interval> first_gaps(const BeginRound& open, std::span<const SliceMemory> slices);

// Skipped positions of a round (BeginRound::skipped, with backup workers) belong to other rounds. They count
// as covered in every slice, so they are neither gaps nor added.

// Marks them as covered in all slices. Call once, before any push of the round is added. Returns false,
// without a change, if they are invalid or a slice does not have the round's version. (All have it in a
// correct run: workers have computed from that version before BeginRound is sent.)
bool cover_holes(const BeginRound& open, std::span<SliceMemory> slices);

}  // namespace steelyard
