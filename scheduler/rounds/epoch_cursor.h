// EpochCursor: the training's position in the data, and when training is over. Only arithmetic on the job.
//
// A round is the next `global_batch` positions of the epoch's permutation, times the number of local steps if
// the sync mode has any, or a number of positions that the policy decides. Rounds never span epochs, so the
// last round of an epoch may be shorter. In a mode where one round is the rest of the job, it covers the
// positions of an epoch once for each remaining epoch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "protocol/messages.h"
#include "protocol/sync_mode.h"

namespace steelyard {

// Drawn steps: how many local steps each worker takes in a round of a mode with hubs.
//
// As in MLL-SGD (Castiglia, Das, Patterson, ICLR 2021, section 3), time is divided into slots. In each slot a
// worker takes a step with probability p = its speed / the highest speed. The published algorithm has a fixed
// number of slots, so some samples are not used. Here slots continue until all batches of a round are taken,
// so that every position counts once. With equal speeds all workers take the same number of steps.

// Steps by worker; their sum is `batches`. The policy's shares represent the speeds; at least one is not 0. A
// share one below the largest counts as equal to it if the difference can be due to rounding. A pure function
// of its arguments.
std::vector<std::uint64_t> drawn_steps(std::span<const std::uint64_t> shares, std::uint64_t batches,
                                       std::uint64_t seed);

class EpochCursor {
 public:
  EpochCursor(const Job& job, const Progress& from);

  [[nodiscard]] Round round() const { return round_; }  // the next one; also the number of rounds done
  [[nodiscard]] std::uint64_t epoch() const { return epoch_; }
  [[nodiscard]] Interval positions() const;  // of the next round
  [[nodiscard]] LocalSteps local() const;    // of the next round
  [[nodiscard]] double epochs_done() const;  // a fraction within an epoch
  [[nodiscard]] bool at_epoch_start() const { return offset_ == 0; }
  [[nodiscard]] bool ends_epoch() const {
    return positions().end == samples_;
  }  // whether the next round does

  // Sets the length of the next round, at least 1, instead of the sync mode's; cut at the end of the epoch.
  void take(std::uint64_t positions);
  void advance();  // the next round is done

  // Whether the limit of epochs, rounds or seconds is reached.
  [[nodiscard]] bool over(double seconds) const;
  // Whether an evaluation, or a checkpoint, is due once the next round is done.
  [[nodiscard]] bool evaluates_after_next() const { return due_after_next(evaluate_every_); }
  // Whether an evaluation is due before the first round: the run before a resume may have ended between the
  // checkpoint and the evaluation of an epoch.
  [[nodiscard]] bool evaluates_first() const {
    return evaluate_every_ > 0 && epoch_ > 0 && at_epoch_start() && epoch_ % evaluate_every_ == 0;
  }
  // Epochs of a single step cause no checkpoint if the job has checkpoint_minutes.
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
  std::uint64_t length_;  // of the next round, unless the epoch ends before

 public:
  void serialize(auto& fields) { fields(round_, epoch_, offset_, length_); }
};

}  // namespace steelyard
