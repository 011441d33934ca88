#include "scheduler/rounds/epoch_cursor.h"

#include <algorithm>

#include "core/check.h"
#include "core/random.h"

namespace steelyard {
namespace {

constexpr double little_slower = 1.0 / 8;

double probability(std::uint64_t share, std::uint64_t largest) {
  const double p = static_cast<double>(share) / static_cast<double>(largest);
  return share + 1 >= largest && p >= 1 - little_slower ? 1 : p;
}

}  // namespace

// The last slot may have fewer batches left than steps drawn, so each slot starts at a random worker.
std::vector<std::uint64_t> drawn_steps(std::span<const std::uint64_t> shares, std::uint64_t batches,
                                       std::uint64_t seed) {
  const std::uint64_t largest = shares.empty() ? 0 : std::ranges::max(shares), workers = shares.size();
  CHECK(largest > 0, "at least one share is above 0");
  std::vector<std::uint64_t> steps(workers);
  for (std::uint64_t slot = 0; batches > 0; ++slot) {
    const std::uint64_t first = hash(seed, slot) % workers;
    for (std::uint64_t i = 0; i < workers && batches > 0; ++i) {
      const std::uint64_t worker = (first + i) % workers;
      if (unit(hash(seed, slot, worker)) >= probability(shares[worker], largest)) continue;
      ++steps[worker];
      --batches;
    }
  }
  return steps;
}

namespace {

// If the batch is the whole data set, an epoch is one step, and training would wait for a checkpoint after
// each. Checkpoints are then due only by checkpoint_minutes, if the job has that.
std::uint64_t epochs_between_checkpoints(const Job& job) {
  const bool epoch_is_step =
      job.sync.span == SyncMode::Span::batch && !job.sync.is_local() && job.global_batch >= job.train_samples;
  return epoch_is_step && job.checkpoint_minutes > 0 ? 0 : job.checkpoint_every;
}

}  // namespace

EpochCursor::EpochCursor(const Job& job, const Progress& from)
    : mode_(job.sync),
      samples_(job.train_samples),
      batch_(job.global_batch),
      epochs_(job.epochs),
      rounds_(job.rounds),
      evaluate_every_(job.evaluate_every),
      checkpoint_every_(epochs_between_checkpoints(job)),
      checkpoint_rounds_(job.checkpoint_rounds),
      seconds_(job.seconds),
      round_(from.version),
      epoch_(from.epoch),
      offset_(from.offset),
      length_(mode_.batches() * batch_) {
  CHECK(samples_ > 0 && batch_ > 0, "a job has samples and a batch");
  CHECK(offset_ < samples_, "a cursor begins inside an epoch");
  CHECK(mode_.span != SyncMode::Span::job || epochs_ > 0, "one round for the whole job needs its epochs");
}

Interval EpochCursor::positions() const {
  if (mode_.span != SyncMode::Span::batch) return {offset_, samples_};
  return {offset_, std::min(offset_ + length_, samples_)};
}

// One step for each global batch of the round. After a checkpoint of another mode, the first round may be the
// rest of an epoch.
LocalSteps EpochCursor::local() const {
  if (!mode_.is_local()) return {};
  const bool all = mode_.span == SyncMode::Span::job && offset_ == 0 && epoch_ < epochs_;
  return {(positions().size() + batch_ - 1) / batch_, all ? epochs_ - epoch_ : 1};
}

double EpochCursor::epochs_done() const {
  return static_cast<double>(epoch_) + static_cast<double>(offset_) / static_cast<double>(samples_);
}

void EpochCursor::take(std::uint64_t positions) {
  CHECK(positions > 0, "a round has positions");
  length_ = std::min(positions, samples_);
}

void EpochCursor::advance() {
  const std::uint64_t passes = local().passes;
  offset_ = positions().end;
  ++round_;
  if (offset_ == samples_) {
    offset_ = 0;
    epoch_ += passes;
  }
}

bool EpochCursor::over(double seconds) const {
  return (epochs_ > 0 && epoch_ >= epochs_) || (rounds_ > 0 && round_ >= rounds_) ||
         (seconds_ > 0 && seconds >= seconds_);
}

Progress EpochCursor::progress(Term term, double seconds) const {
  return {term, round_, epoch_, offset_, seconds, {}};
}

}  // namespace steelyard
