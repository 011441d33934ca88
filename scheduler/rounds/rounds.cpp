#include "scheduler/rounds/rounds.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/check.h"
#include "nn/optimizer/schedule.h"

namespace steelyard {
namespace {

std::size_t shards_with_slices(const Job& job) {
  const std::vector<std::uint32_t> borders = shard_borders(job.layout, job.shards);
  return std::set(borders.begin(), borders.end()).size() - 1;
}

}  // namespace

Rounds::Rounds(const Job& job, const Progress& from)
    : job_(job),
      mode_(job.sync),
      barriers_(rounds_with_barrier(job)),
      term_(from.term),
      shards_telling_(shards_with_slices(job)),
      seconds_before_(from.seconds),
      done_(job, from),
      ahead_(done_),
      barrier_(from.version),
      evaluation_due_(done_.evaluates_first()) {
  take_fresh();
}

RoundState* Rounds::training(Round round) {
  const auto found = std::ranges::find_if(
      states_, [&](const RoundState& it) { return it.round() == round && it.purpose() == Purpose::train; });
  return found == states_.end() ? nullptr : &*found;
}

RoundState* Rounds::oldest_open() {
  const auto found = std::ranges::find(states_, false, &RoundState::done);
  return found == states_.end() ? nullptr : &*found;
}

double Rounds::trained_seconds(Time now) const {
  return seconds_before_ + (started_ ? seconds(now - *started_) : 0);
}

// Rounds finish in order.
Rounds::Next Rounds::next(Time now, bool ending) {
  if (const RoundState* oldest = oldest_open()) {
    const bool reported = oldest->reported();
    if (!oldest->opened && (reported || (!ending && may_leave_over(now, *oldest)))) return OpenOldest{};
    if (reported) return FinishOldest{};
    return Wait{};
  }
  if (ending) return EndAsRequested{};
  const bool over = done_.over(trained_seconds(now));
  const bool evaluates = job_.evaluate_every > 0 && job_.test_samples > 0 && !evaluated_last_;
  if (evaluates && (evaluation_due_ || over)) return BeginEvaluation{};
  if (over) return EndJob{Outcome::finished, last_done_ ? "" : "nothing was left to do"};
  return BeginTrainingRound{};
}

bool Rounds::can_be_saved() const {
  const bool open = std::ranges::any_of(states_, [](const RoundState& it) { return !it.done; });
  return left_over_.empty() && !(mode_.on_arrival && open);
}

// True once all but SyncMode::backup workers have reported. No positions are left over at the end of an epoch
// or of the job, or in a round that is saved, so that the position in a checkpoint is exact.
bool Rounds::may_leave_over(Time now, const RoundState& round) const {
  if (round.purpose() != Purpose::train || round.owing() > mode_.backup || !round.any_reported())
    return false;
  EpochCursor after = done_;
  after.advance();
  return !round.open().save && !done_.ends_epoch() && !after.over(trained_seconds(now));
}

// With backup workers, the next round has the leftover positions and enough new ones for a global batch of
// whole grains, so that all borders lie between grains. Sets the cursors before the round begins, because
// they show whether it ends the epoch and must be saved.
void Rounds::take_fresh() {
  if (mode_.backup == 0) return;
  std::uint64_t left = 0;
  for (const Interval& part : left_over_) left += part.size();
  const std::uint64_t batch = std::max<std::uint64_t>(1, job_.global_batch / job_.grain) * job_.grain;
  CHECK(left < batch, "a round leaves over less than its own length");
  ahead_.take(batch - left);
  done_.take(batch - left);
}

Interval Rounds::dealt(std::vector<Interval>& skipped) const {
  if (left_over_.empty()) return ahead_.positions();
  IntervalSet its;
  for (const Interval& part : left_over_) its.add(part);
  const Interval fresh = ahead_.positions();
  its.add(fresh);
  const Interval all{its.intervals().front().begin, fresh.end};
  skipped = its.gaps(all);
  return all;
}

bool Rounds::may_run_ahead(Time now) const {
  if (mode_.slack == 0 || pause_ || states_.empty() || states_.back().purpose() != Purpose::train ||
      !states_.back().untaken().empty()) {
    return false;
  }
  const std::uint64_t slack = std::min(mode_.slack_at(ahead_.round(), barriers_), most_open_rounds - 1);
  return ahead_.round() - done_.round() <= slack && states_.size() < most_open_rounds &&
         !ahead_.over(trained_seconds(now));
}

RoundState& Rounds::begin(Time now, bool save) {
  if (std::exchange(pause_, false)) barrier_ = ahead_.round();
  std::vector<Interval> skipped;
  const Interval positions = dealt(skipped);
  const bool clip_barrier = job_.clip_norm > 0 && mode_.has_versions() && !mode_.is_local();
  const BeginRound open{term_,        ahead_.round(), ahead_.epoch(), positions, positions.size(),
                        clip_barrier, save,           ahead_.local(), skipped};
  pause_ = save || (ahead_.evaluates_after_next() && job_.test_samples > 0);
  const Version least = std::max(barrier_, open.round - mode_.slack_at(open.round, barriers_));
  ahead_.advance();
  RoundState& round =
      states_.emplace_back(open, Purpose::train, now, least, mode_.on_demand && open.round >= barriers_);
  round.opened = mode_.backup == 0;
  return round;
}

RoundState& Rounds::begin_evaluation(Time now) {
  const BeginRound open{term_, done_.round(), done_.epoch(), {0, job_.test_samples}, 0, false, false, {}};
  return states_.emplace_back(open, Purpose::evaluate, now, done_.round());
}

void Rounds::finish(Time now, RoundState& round) {
  if (round.purpose() == Purpose::evaluate) {
    evaluated_last_ = true;
    evaluation_due_ = false;
    states_.pop_back();  // shards do not know evaluations
    return;
  }
  round.done = true;
  left_over_ = round.left_over();
  last_done_ = now;
  if (mode_.chooses_length()) done_.take(round.open().positions.size());
  evaluation_due_ = evaluation_due_ || done_.evaluates_after_next();
  done_.advance();
  evaluated_last_ = false;
  take_fresh();
}

RoundRecord Rounds::record(Time now, const RoundState& round, const Members& members) const {
  RoundRecord record;
  record.round = round.round();
  record.purpose = round.purpose();
  record.epoch = round.open().epoch;
  record.positions = round.open().positions;
  for (const Interval& part : round.open().skipped) record.skipped += part.size();
  record.passes = round.open().local.passes;
  const double epochs = static_cast<double>(record.epoch) +
                        static_cast<double>(record.positions.begin) / static_cast<double>(job_.train_samples);
  record.rate = nn::learning_rate(job_.schedule, epochs);
  record.seconds = seconds(now - std::max(round.started(), last_done_.value_or(Time{})));
  record.staleness = members.staleness();
  record.loss = round.loss();
  record.accuracy = round.accuracy(job_.labels);
  const std::vector<RoundState::Part> parts = round.parts();
  record.parts.reserve(parts.size());
  for (const RoundState::Part& part : parts) {
    const auto& worker = members.workers.at(part.slot);
    record.parts.push_back(
        {part.slot, worker.name, part.samples * record.passes, part.seconds, worker.cpu, worker.memory});
  }
  return record;
}

std::vector<Duration> Rounds::confirm(Time now, Version version, bool nobody_works, Duration timeout) {
  std::vector<Duration> pushes;
  for (auto round = states_.begin(); round != states_.end();) {
    const bool closed = round->purpose() == Purpose::train && round->round() < version;
    if (closed && round->done && std::next(round) != states_.end()) {
      round = states_.erase(round);
      continue;
    }
    if (closed && !round->closed) {
      round->closed = now;
      pushes.push_back(round->longest_since_report(now));
    }
    if (round->least() <= version && !round->possible) round->possible = now;
    // A report may be late without being lost: pushes and reports travel on different connections.
    if (closed && !round->done && (nobody_works || now - *round->closed > timeout)) round->close_unreported();
    ++round;
  }
  return pushes;
}

void Rounds::restarted(Time now) {
  for (RoundState& round : states_) {
    if (round.closed && !round.done) round.closed = now;
  }
}

bool Rounds::any_unclosed_below(Version version) const {
  return std::ranges::any_of(states_, [&](const RoundState& round) {
    return round.purpose() == Purpose::train && !round.closed && round.round() < version;
  });
}

Rounds::Gate Rounds::cover(RoundState& round, std::uint32_t shard, const std::vector<double>& squares) {
  round.squares[shard] = squares;
  if (round.scale) return CommitAgain{*round.scale};
  if (round.squares.size() < shards_telling_) return Uncovered{};
  double sum = 0;  // in the order of slices, independent of the order of arrival
  for (const auto& [slot, its] : round.squares) {
    for (const double square : its) sum += square;
  }
  const double norm = std::sqrt(sum);
  if (!std::isfinite(norm)) {
    return EndJob{Outcome::non_finite,
                  "round " + std::to_string(round.round()) + ": the norm of the gradient is not finite"};
  }
  round.scale = norm > job_.clip_norm ? job_.clip_norm / norm : 1.0;
  return CommitAll{*round.scale};
}

}  // namespace steelyard
