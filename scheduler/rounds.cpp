// The rounds: what is begun when, what is done when, and when it is over.
#include <algorithm>
#include <cmath>

#include "core/stats.h"
#include "nn/optimizer/schedule.h"
#include "scheduler/scheduler.h"

namespace steelyard {
namespace {

constexpr std::size_t saves_at_once =
    2;  // beyond, they come faster than they can be written: some are left out

}  // namespace

double Scheduler::trained_seconds(Time now) const {
  return seconds_before_ + (started_ == Time{} ? 0 : seconds(now - started_));
}

// Whatever has become possible, after every message and every beat.
void Scheduler::advance(Time now, Outbox& out) {
  if (phase_ == Phase::gathering && members_.all_shards_loaded(job_.shards) && enough_workers(now)) {
    phase_ = Phase::running;
    started_ = save_begun_ = now;
  }
  while (phase_ == Phase::running && go_on(now, out)) {
  }
  // Nobody is left to finish the round, or it is so long that it is rather done again.
  if (phase_ == Phase::running && interrupted_ && (left_alone(now) || mode_.span != SyncMode::Span::batch)) {
    end(Outcome::interrupted, "ended on request", out);
  }
  if (phase_ == Phase::saving && saves_.empty()) {
    if (!storage_trouble_.empty() && (ending_ == Outcome::finished || ending_ == Outcome::interrupted)) {
      ending_ = Outcome::storage;
      stop_.text = "the last checkpoint could not be written: " + storage_trouble_;
    }
    if (ending_ == Outcome::worker_failed && started_ != Time{}) stop_.text += "; " + way_back();
    phase_ = Phase::stopping;
    stop_.outcome = ending_;
    stop_said_ = now;
    for (const auto& [slot, worker] : members_.workers) {
      if (worker.present) awaited_.insert(worker.node);
    }
    for (const auto& [slot, shard] : members_.shards) awaited_.insert(shard.node);
    if (members_.checkpointer) out.send<ToCheckpointer>(*members_.checkpointer, stop_);
    out.send<ToRecorder>(recorder_node, Ended{ending_, stop_.text,
                                              course_.progress(term_, trained_seconds(now)), staleness()});
    say_stop(now, out);
  }
}

// Those who have been cut off from a server for long are not waited for.
bool Scheduler::enough_workers(Time now) const {
  const auto counts = [&](const auto& it) {
    const WorkerMember& worker = it.second;
    return worker.working() || (worker.present && is_cut_off(now, worker));
  };
  return !members_.working().empty() && std::ranges::count_if(members_.workers, counts) >= job_.workers;
}

// Nobody is there, and what was pushed before has had the time to close the round all the same.
bool Scheduler::left_alone(Time now) {
  if (!members_.working().empty()) {
    alone_since_.reset();
  } else if (!alone_since_) {
    alone_since_ = now;
  }
  return alone_since_ && now - *alone_since_ > timeout();
}

bool Scheduler::go_on(Time now, Outbox& out) {
  const auto oldest = std::ranges::find(works_, false, &Work::done);
  if (oldest == works_.end()) {
    proceed(now, out);
  } else if (oldest->reported()) {
    finish(now, *oldest, out);
  } else if (hand_out(now, out)) {
    return true;
  } else if (may_run_ahead(now)) {
    begin_round(now, out);
  } else {
    return false;
  }
  return true;
}

// Rounds are done in their order.
void Scheduler::finish(Time now, Work& work, Outbox& out) {
  record(now, work, out);
  work.done = true;
  if (work.purpose() == Purpose::train) {
    last_done_ = now;
    longest_wait_ = longest_wait_ * 3 / 4;
    for (const balancing::Sample& sample : std::exchange(work.unseen, {})) policy_->observe(sample);
    evaluation_due_ = evaluation_due_ || course_.evaluates_after_next();
    course_.advance();
    evaluated_last_ = false;
    if (!work.open().save) return;
    save(present(now), out);
  } else {
    evaluated_last_ = true;
    evaluation_due_ = false;
    const double accuracy = work.accuracy();
    works_.pop_back();  // shards have no part in it
    if (job_.target_accuracy > 0 && accuracy >= job_.target_accuracy) {
      end(Outcome::finished, "the target accuracy is reached", out);
    }
  }
}

void Scheduler::proceed(Time now, Outbox& out) {
  if (interrupted_) return end(Outcome::interrupted, "ended on request", out);
  const bool over = course_.over(trained_seconds(now));
  const bool evaluates = job_.evaluate_every > 0 && job_.test_samples > 0 && !evaluated_last_;
  if (evaluates && (evaluation_due_ || over)) return begin_evaluation(now, out);
  if (over) return end(Outcome::finished, last_done_ == Time{} ? "nothing was left to do" : "", out);
  begin_round(now, out);
}

// Whether the next round may begin although others are not done: within the slack, not across a barrier, and
// only for somebody who would wait otherwise.
bool Scheduler::may_run_ahead(Time now) {
  if (mode_.slack == 0 || pause_ || interrupted_ || works_.back().purpose() != Purpose::train ||
      !works_.back().untaken().empty()) {
    return false;
  }
  const std::uint64_t slack = std::min(mode_.slack, most_open_rounds - 1);
  if (ahead_.round() - course_.round() > slack || works_.size() >= most_open_rounds ||
      ahead_.over(trained_seconds(now))) {
    return false;
  }
  std::erase_if(free_, [&](std::uint32_t slot) { return !is_idle(slot); });
  return !free_.empty();
}

void Scheduler::begin_round(Time now, Outbox& out) {
  if (std::exchange(pause_, false)) barrier_ = ahead_.round();
  const Interval positions = ahead_.positions();
  const bool gate = job_.clip_norm > 0 && !mode_.on_arrival && !mode_.is_local();
  const bool save = saves_next(now, out);
  const Open open{term_, ahead_.round(), ahead_.epoch(), positions, positions.size(),
                  gate,  save,           ahead_.local()};
  pause_ = save || (ahead_.evaluates_after_next() && job_.test_samples > 0);
  const Version least = open.round > mode_.slack ? std::max(barrier_, open.round - mode_.slack) : barrier_;
  ahead_.advance();
  for (auto& [slot, shard] : members_.shards) {
    shard.opens_sent = now;
    out.send<ToShard>(shard.node, open);
  }
  works_.emplace_back(open, Purpose::train, now, least, mode_.on_demand);
  confirm(now);  // whether it can be computed at once
  if (mode_.on_demand) {
    plan_helpings(works_.back());
    hand_out(now, out);
  } else {
    issue(now, works_.back(), positions, 0, out);
  }
}

// Whether the version that the next round makes is saved.
bool Scheduler::saves_next(Time now, Outbox& out) {
  const Duration every = from_seconds(60 * job_.checkpoint_minutes);
  const bool in_time = every > Duration{} && now - save_begun_ >= every;
  if (!in_time && !ahead_.saves_after_next()) return false;
  save_begun_ = now;
  if (saves_.size() < saves_at_once) return true;
  note(out, "no checkpoint of round " + std::to_string(ahead_.round() + 1) + ": " +
                std::to_string(saves_.size()) + " are still being written");
  return false;
}

void Scheduler::begin_evaluation(Time now, Outbox& out) {
  const Open open{term_, course_.round(), course_.epoch(), {0, job_.test_samples}, 0, false, false, {}};
  works_.emplace_back(open, Purpose::evaluate, now, course_.round());
  issue(now, works_.back(), open.positions, 0, out);
}

void Scheduler::record(Time now, const Work& work, Outbox& out) {
  RoundRecord record;
  record.round = work.round();
  record.purpose = work.purpose();
  record.epoch = work.open().epoch;
  record.positions = work.open().positions;
  record.passes = work.open().local.passes;
  const double epochs = static_cast<double>(record.epoch) +
                        static_cast<double>(record.positions.begin) / static_cast<double>(job_.train_samples);
  record.rate = nn::learning_rate(job_.schedule, epochs);
  record.seconds = seconds(now - std::max(work.started(), last_done_));
  record.staleness = staleness();
  record.loss = work.loss();
  record.accuracy = work.accuracy();
  const std::vector<Work::Part> parts = work.parts();
  record.parts.reserve(parts.size());
  for (const Work::Part& part : parts) {
    record.parts.push_back(
        {part.slot, members_.workers.at(part.slot).name, part.samples * record.passes, part.seconds});
  }
  out.send<ToRecorder>(recorder_node, std::move(record));
}

void Scheduler::handle(Time now, NodeId from, const Report& report, Outbox& out) {
  WorkerMember* worker = members_.worker(from);
  if (worker == nullptr || report.term != term_ || !report.positions.valid() ||
      report.correct > report.positions.size() || !(report.seconds >= 0)) {
    return ignore();
  }
  if (mode_.slack > 0) free_.insert(worker->slot);
  PieceId id = report.piece;
  Found found = find(id);
  const bool late = found.piece == nullptr;
  if (late) found = find(id = take_back(now, *worker, report));
  const bool usable = found.piece != nullptr && !found.piece->reported &&
                      report.positions == found.piece->positions && found.piece->owner == worker->slot;
  if (!usable) return ignore();
  worker->cpu = report.cpu;
  worker->memory = report.memory;
  // What it waited for its parameters. Nobody knows where the piece was asked for again, or could have lain
  // behind others of its owner.
  const double waited = std::max(0.0, seconds(now - found.piece->since) - report.seconds);
  const bool unknown = late || found.piece->asked_again || mode_.slack > 0;
  const double exchange = unknown ? -1 : waited;
  longest_wait_ = std::max(longest_wait_, from_seconds(waited));
  // A gradient may be finite all the same: that of a hinge is zero where there is no number.
  if (!std::isfinite(report.loss)) {
    return compute_elsewhere(now, found, id, "the loss that worker '" + worker->name + "' computed", out);
  }
  found.work->report(id, report, now);
  if (report.purpose != Purpose::train) return;
  const balancing::Sample sample{worker->slot,   report.round, report.positions.size(),
                                 report.seconds, report.cpu,   report.memory,
                                 exchange};
  if (in_order()) {
    found.work->unseen.push_back(sample);
  } else {
    policy_->observe(sample);
  }
}

void Scheduler::handle(Time, NodeId from, const Covered& covered, Outbox& out) {
  const ShardMember* shard = members_.shard(from);
  const auto work = std::ranges::find_if(
      works_, [&](const Work& it) { return it.round() == covered.round && it.purpose() == Purpose::train; });
  if (shard == nullptr || work == works_.end() || covered.term != term_) return ignore();
  work->squares[shard->slot] = covered.squares;
  if (!work->scale) {
    // A small model may leave shards without slices: they have nothing to tell.
    const std::uint32_t telling = std::min(job_.shards, slice_count_);
    if (work->squares.size() < telling) return;
    double sum = 0;  // in the order of slices, whoever was first
    for (const auto& [slot, squares] : work->squares) {
      for (const double square : squares) sum += square;
    }
    const double norm = std::sqrt(sum);
    if (!std::isfinite(norm)) {
      return end(
          Outcome::non_finite,
          "round " + std::to_string(covered.round) + ": the norm of the gradient is not finite; " + spoilt(),
          out);
    }
    work->scale = norm > job_.clip_norm ? job_.clip_norm / norm : 1.0;
    for (const auto& [slot, it] : members_.shards)
      out.send<ToShard>(it.node, Commit{term_, covered.round, *work->scale});
  } else {
    out.send<ToShard>(from, Commit{term_, covered.round, *work->scale});  // the first one was lost on the way
  }
}

void Scheduler::handle(Time now, NodeId from, const Closed& closed, Outbox&) {
  ShardMember* shard = members_.shard(from);
  if (shard == nullptr || closed.term != term_ || closed.version > ahead_.round()) return ignore();
  shard->version = std::max(shard->version, closed.version);
  if (!closed.staleness.empty()) staleness_[shard->slot] = closed.staleness;
  confirm(now);
}

Staleness Scheduler::staleness() const {
  Staleness sum;
  for (const auto& [slot, counts] : staleness_) {
    sum.resize(std::max(sum.size(), std::min(counts.size(), staleness_places)));
    for (std::size_t i = 0; i < std::min(counts.size(), sum.size()); ++i) sum[i] += counts[i];
  }
  return sum;
}

// Rounds that every shard has closed need nothing more. Of some the last reports may still be on their way,
// for shards are told by others than we are: only those that do not come are done without.
void Scheduler::confirm(Time now) {
  const Version version = members_.lowest_version();
  const bool nobody = interrupted_ && members_.working().empty();  // to wait for
  for (auto work = works_.begin(); work != works_.end();) {
    const bool closed = work->purpose() == Purpose::train && work->round() < version;
    if (closed && work->done && std::next(work) != works_.end()) {
      work = works_.erase(work);
      continue;
    }
    if (closed && !work->closed) {
      work->closed = now;
      longest_push_ = std::max(longest_push_ * 3 / 4, work->longest_since_report(now));
    }
    if (work->least() <= version && !work->possible) work->possible = now;
    if (closed && !work->done && (nobody || now - *work->closed > timeout())) work->close_unreported();
    ++work;
  }
}

void Scheduler::handle(Time now, NodeId from, const ShardBeat& beat, Outbox& out) {
  ShardMember* shard = members_.shard(from);
  if (shard == nullptr || beat.term != term_ || beat.version > ahead_.round()) return ignore();
  shard->loaded = shard->loaded || beat.loaded;
  shard->parts = beat.parts;
  shard->parts_in_all = beat.parts_in_all;
  shard->version = std::max(shard->version, beat.version);
  if (std::exchange(shard->added, beat.added) != beat.added) shard->fed = now;
  confirm(now);
  for (Work& work : works_) {
    if (work.purpose() != Purpose::train) continue;
    if (work.round() >= beat.opened && now - shard->opens_sent > timeout()) {
      out.send<ToShard>(from, work.open());  // it did not get this one
    }
    if (work.round() == beat.version && beat.opened > work.round()) {
      for (const Interval& gap : beat.gaps) {
        if (gap.valid() && work.open().positions.contains(gap)) mend(now, work, gap, *shard, out);
      }
    }
  }
}

// ---- saving and ending

std::string Scheduler::where(const Work& work, Interval positions) {
  const std::string test = work.purpose() == Purpose::evaluate ? "test " : "";
  return "round " + std::to_string(work.round()) + " (epoch " + std::to_string(work.open().epoch) + ", " +
         test + "positions " + std::to_string(positions.begin) + " to " + std::to_string(positions.end) + ")";
}

std::string Scheduler::spoilt() {
  return "the last checkpoint is kept: lower train.lr, or set train.clip_norm, and resume";
}

std::string Scheduler::way_back() const {
  if (last_saved_) return "resume: the checkpoint of round " + std::to_string(*last_saved_) + " is kept";
  if (!saves_.empty()) return "resume if the checkpoint that was being written is there, or begin again";
  return resumed_ ? "resume from the checkpoint that this run began with"
                  : "begin again: no checkpoint had been written yet";
}

// Where the training is, and what those who go on from here have to know.
Progress Scheduler::present(Time now) const {
  Progress progress = course_.progress(term_, trained_seconds(now));
  progress.policy_state = policy_->save();
  progress.workers = members_.names();
  return progress;
}

void Scheduler::save(const Progress& progress, Outbox& out) {
  saves_[progress.version] = progress;
  if (members_.checkpointer) out.send<ToCheckpointer>(*members_.checkpointer, Save{progress});
}

void Scheduler::handle(Time now, NodeId, const Saved& saved, Outbox& out) {
  state_watch_.answered(now);
  if (saves_.erase(saved.version) == 0) return ignore();
  const bool newest = saved.version >= last_answered_;
  last_answered_ = std::max(last_answered_, saved.version);
  if (newest) storage_trouble_ = saved.ok ? "" : saved.text;
  if (saved.ok) last_saved_ = std::max(last_saved_.value_or(0), saved.version);
  note(out, saved.ok ? "checkpoint of round " + std::to_string(saved.version) + " in " + saved.text
                     : "the checkpoint of round " + std::to_string(saved.version) + " failed: " + saved.text);
}

// What cannot be saved any more is not waited for.
void Scheduler::give_up_saving(const std::string& why) {
  if (saves_.empty()) return;
  saves_.clear();
  storage_trouble_ = why;
}

// Nothing more is begun. The present version is saved first, where it is whole and not saved yet. The first
// failure stands; until it is said, it replaces any better ending.
void Scheduler::end(Outcome outcome, std::string text, Outbox& out) {
  const auto good = [](Outcome it) { return it == Outcome::finished || it == Outcome::interrupted; };
  const bool whole = good(outcome) || outcome == Outcome::worker_failed;  // what the servers hold
  if (ending_ != Outcome::running && (good(outcome) || !good(ending_) || phase_ >= Phase::stopping)) return;
  const bool trained = phase_ == Phase::running;
  ending_ = outcome;
  stop_ = {outcome, std::move(text)};
  phase_ = Phase::saving;
  if (!whole) {
    saves_.clear();
  } else if (mode_.on_arrival && std::ranges::find(works_, false, &Work::done) != works_.end()) {
    note(out, "the rounds that are under way cannot be finished, and no checkpoint is written of them");
  } else if (trained && last_saved_ != course_.round() && !saves_.contains(course_.round())) {
    save(present(now_), out);
  }
}

}  // namespace steelyard
