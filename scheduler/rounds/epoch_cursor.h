// EpochCursor: where in the data the training is, and when it is over. Arithmetic on the job, nothing else.
//
// A round is the next `global_batch` positions of the epoch's permutation, or as many of them as its sync
// mode takes local steps, or as many as the policy says; rounds never span epochs, so an epoch's last round
// is as long as what is left.
// Where one round is the rest of the job, it walks the positions of an epoch once for each epoch that is
// left.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/messages.h"
#include "protocol/sync_mode.h"

namespace steelyard {

// Drawn steps: how many local steps each worker takes in a round of a mode with hubs.
//
// As in MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 3) time has slots, and in each a worker takes
// a step with the probability p = its speed / that of the quickest; nobody waits for a step that was not
// drawn. The published algorithm counts slots and lets go of samples. Here slots go on until all of a
// round's batches are taken, so that every position counts once. With equal speeds all take the same number
// of steps.

// By worker; `batches` in all. Speeds are those that a policy's shares are in proportion to, of which one is
// not 0; what is less than the largest by one, and so by little, is rounded, and as quick. A function of its
// arguments.
std::vector<std::uint64_t> drawn_steps(std::span<const std::uint64_t> shares, std::uint64_t batches,
                                       std::uint64_t seed);

class EpochCursor {
 public:
  EpochCursor(const Job& job, const Progress& from);

  [[nodiscard]] Round round() const { return round_; }  // the next one; also how many have been done
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] Interval positions() const;  // of the next round
  [[nodiscard]] LocalSteps local() const;    // of the next round
  [[nodiscard]] double epochs_done() const;  // with fractions
  [[nodiscard]] bool at_epoch_start() const { return offset_ == 0; }
  [[nodiscard]] bool ends_epoch() const { return positions().end == samples_; }  // the next round does

  // The next round takes so many positions, at least one, as far as the epoch has them, instead of what its
  // sync mode says.
  void take(std::uint64_t positions);
  void advance();  // the next round is done

  // Whether epochs, rounds or seconds are used up.
  [[nodiscard]] bool over(double seconds) const;
  // Whether an evaluation, or a checkpoint, is due once the next round is done.
  [[nodiscard]] bool evaluates_after_next() const { return due_after_next(evaluate_every_); }
  // Whether one is due before: a checkpoint is written first, so the evaluation may have been lost.
  [[nodiscard]] bool evaluates_first() const {
    return evaluate_every_ > 0 && epoch_ > 0 && at_epoch_start() && epoch_ % evaluate_every_ == 0;
  }
  // An epoch that is one step is no reason for a checkpoint, while the job has checkpoint_minutes.
  [[nodiscard]] bool saves_after_next() const {
    return due_after_next(checkpoint_every_) ||
           (checkpoint_rounds_ > 0 && (round_ + 1) % checkpoint_rounds_ == 0);
  }

  [[nodiscard]] Progress progress(Term term, double seconds) const;

 private:
  [[nodiscard]] bool due_after_next(std::uint64_t every) const {
    return every > 0 && ends_epoch() && (epoch_ + local().passes) % every == 0;
  }

  const SyncMode mode_;
  const std::uint64_t samples_, batch_, epochs_, rounds_, evaluate_every_, checkpoint_every_,
      checkpoint_rounds_;
  const double seconds_;
  Round round_;
  std::uint64_t epoch_;
  Position offset_;
  std::uint64_t length_;  // of the next round, but for an epoch's last

 public:
  void serialize(auto& fields) { fields(round_, epoch_, offset_, length_); }
};

}  // namespace steelyard
