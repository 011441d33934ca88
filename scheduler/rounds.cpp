// The rounds: what is begun when, what is done when, and when it is over.
#include <algorithm>
#include <cmath>

#include "core/stats.h"
#include "nn/optimizer/schedule.h"
#include "scheduler/scheduler.h"

namespace steelyard {
namespace {

constexpr std::size_t saves_at_once = 2;  // beyond, epochs are shorter than writing takes: some go unsaved

}  // namespace

double Scheduler::trained_seconds(Time now) const {
  return seconds_before_ + (started_ == Time{} ? 0 : seconds(now - started_));
}

// Whatever has become possible, after every message and every beat.
void Scheduler::advance(Time now, Outbox& out) {
  if (phase_ == Phase::gathering && members_.all_shards_loaded(job_.shards) &&
      members_.working().size() >= job_.workers) {
    phase_ = Phase::running;
    started_ = now;
    if (interrupted_ || course_.over(trained_seconds(now))) {
      end(Outcome::finished, "nothing was left to do", out);
    } else {
      begin_round(now, out);
    }
  }
  while (phase_ == Phase::running && !works_.empty() && works_.back().reported())
    after(now, works_.back(), out);
  if (phase_ == Phase::running && interrupted_ && members_.working().empty()) {
    end(Outcome::interrupted, "ended on request", out);  // nobody is left to finish the round
  }
  if (phase_ == Phase::saving && saves_.empty()) {
    if (!storage_trouble_.empty() && (ending_ == Outcome::finished || ending_ == Outcome::interrupted)) {
      ending_ = Outcome::storage;
      stop_.text = "the last checkpoint could not be written: " + storage_trouble_;
    }
    phase_ = Phase::stopping;
    stop_.outcome = ending_;
    stop_said_ = now;
    for (const auto& [slot, worker] : members_.workers) {
      if (worker.present) awaited_.insert(worker.node);
    }
    for (const auto& [slot, shard] : members_.shards) awaited_.insert(shard.node);
    if (members_.keeper) out.send<ToKeeper>(*members_.keeper, stop_);
    out.send<ToRecorder>(recorder_node,
                         Ended{ending_, stop_.text, course_.progress(term_, trained_seconds(now))});
    say_stop(now, out);
  }
}

// The newest work is done; decides what follows.
void Scheduler::after(Time now, const Work& done, Outbox& out) {
  record(now, done, out);
  const Purpose purpose = done.purpose();
  const double accuracy = done.accuracy();
  bool evaluation_due = false;
  if (purpose == Purpose::train) {
    evaluation_due = course_.evaluates_after_next();
    const bool save_it = done.open().save;
    course_.advance();
    evaluated_last_ = false;
    if (save_it) {
      Progress progress = course_.progress(term_, trained_seconds(now));
      progress.policy_state = policy_->save();
      save(progress, out);
    }
  } else {
    evaluated_last_ = true;
    works_.pop_back();  // shards have no part in it
    if (job_.target_accuracy > 0 && accuracy >= job_.target_accuracy) {
      return end(Outcome::finished, "the target accuracy is reached", out);
    }
  }
  if (interrupted_) return end(Outcome::interrupted, "ended on request", out);
  const bool over = course_.over(trained_seconds(now));
  const bool evaluates = job_.evaluate_every > 0 && job_.test_samples > 0 && !evaluated_last_;
  if (evaluates && (evaluation_due || over)) return begin_evaluation(now, out);
  if (over) return end(Outcome::finished, "", out);
  begin_round(now, out);
}

void Scheduler::begin_round(Time now, Outbox& out) {
  const Interval positions = course_.positions();
  const Open open{term_,
                  course_.round(),
                  course_.epoch(),
                  positions,
                  positions.size(),
                  job_.clip_norm > 0,
                  course_.saves_after_next() && saves_.size() < saves_at_once};
  for (auto& [slot, shard] : members_.shards) {
    shard.opens_sent = now;
    out.send<ToShard>(shard.node, open);
  }
  begin(now, Work(open, Purpose::train, now), out);
}

void Scheduler::begin_evaluation(Time now, Outbox& out) {
  const Open open{term_, course_.round(), course_.epoch(), {0, job_.test_samples}, 0, false, false};
  begin(now, Work(open, Purpose::evaluate, now), out);
}

void Scheduler::begin(Time now, Work work, Outbox& out) {
  works_.push_back(std::move(work));
  issue(now, works_.back(), works_.back().open().positions, 0, out);
}

void Scheduler::record(Time now, const Work& work, Outbox& out) {
  RoundRecord record;
  record.round = work.round();
  record.purpose = work.purpose();
  record.epoch = work.open().epoch;
  record.positions = work.open().positions;
  const double epochs = static_cast<double>(record.epoch) +
                        static_cast<double>(record.positions.begin) / static_cast<double>(job_.train_samples);
  record.rate = nn::learning_rate(job_.schedule, epochs);
  record.seconds = seconds(now - work.started());
  record.loss = work.loss();
  record.accuracy = work.accuracy();
  for (const auto& [slot, part] : work.parts()) {
    record.parts.push_back({slot, members_.workers.at(slot).name, part.samples, part.seconds});
  }
  out.send<ToRecorder>(recorder_node, std::move(record));
}

void Scheduler::handle(Time now, NodeId from, const Report& report, Outbox&) {
  WorkerMember* worker = members_.worker(from);
  const Found found = find(report.piece);
  const bool usable = worker != nullptr && found.piece != nullptr && !found.piece->reported &&
                      report.term == term_ && report.positions == found.piece->positions &&
                      found.piece->owner == worker->slot && report.correct <= report.positions.size() &&
                      report.seconds >= 0;
  if (!usable) {
    ++ignored_;
    return;
  }
  worker->cpu = report.cpu;
  worker->memory = report.memory;
  found.work->report(report.piece, worker->slot, report, now);
  if (report.purpose != Purpose::train) return;
  policy_->observe(
      {worker->slot, report.round, report.positions.size(), report.seconds, report.cpu, report.memory});
}

void Scheduler::handle(Time, NodeId from, const Covered& covered, Outbox& out) {
  const ShardMember* shard = members_.shard(from);
  const auto work = std::ranges::find_if(
      works_, [&](const Work& it) { return it.round() == covered.round && it.purpose() == Purpose::train; });
  if (shard == nullptr || work == works_.end() || covered.term != term_) return;
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
      return end(Outcome::non_finite,
                 "round " + std::to_string(covered.round) +
                     ": the norm of the gradient is not finite; lower train.lr, and resume from "
                     "the last checkpoint",
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
  if (shard == nullptr || closed.term != term_ || closed.version > course_.round() + 1) return;
  shard->version = std::max(shard->version, closed.version);
  confirm(now);
}

// Rounds that every shard has closed need nothing more. Of the newest the last reports may still be on their
// way, for shards are told by others than we are: only those that do not come are done without.
void Scheduler::confirm(Time now) {
  const Version version = members_.lowest_version();
  for (auto work = works_.begin(); work != works_.end();) {
    const bool closed = work->purpose() == Purpose::train && work->round() < version;
    if (closed && std::next(work) != works_.end()) {
      work = works_.erase(work);
      continue;
    }
    if (closed && !work->closed) work->closed = now;
    if (closed && now - *work->closed > patience()) work->close_unreported();
    ++work;
  }
}

void Scheduler::handle(Time now, NodeId from, const ShardBeat& beat, Outbox& out) {
  ShardMember* shard = members_.shard(from);
  if (shard == nullptr || beat.term != term_ || beat.version > course_.round() + 1) return;
  shard->loaded = shard->loaded || beat.loaded;
  shard->version = std::max(shard->version, beat.version);
  confirm(now);
  for (Work& work : works_) {
    if (work.purpose() != Purpose::train) continue;
    if (work.round() >= beat.opened && now - shard->opens_sent > patience()) {
      out.send<ToShard>(from, work.open());  // it did not get this one
    }
    if (work.round() == beat.version && beat.opened > work.round()) {
      for (const Interval& gap : beat.gaps) {
        if (gap.valid() && work.open().positions.contains(gap)) mend(now, work, gap, out);
      }
    }
  }
}

// ---- saving and ending

std::string Scheduler::way_back() const {
  if (last_saved_) return "resume: the checkpoint of round " + std::to_string(*last_saved_) + " is kept";
  return resumed_ ? "resume from the checkpoint that this run began with"
                  : "begin again: no checkpoint had been written yet";
}

void Scheduler::save(const Progress& progress, Outbox& out) {
  saves_[progress.version] = progress;
  if (members_.keeper) out.send<ToKeeper>(*members_.keeper, Save{progress});
}

void Scheduler::handle(Time, NodeId, const Saved& saved, Outbox& out) {
  if (saves_.erase(saved.version) == 0) return;
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
  if (ending_ != Outcome::running && (good(outcome) || !good(ending_) || phase_ >= Phase::stopping)) return;
  const bool trained = phase_ == Phase::running;
  ending_ = outcome;
  stop_ = {outcome, std::move(text)};
  phase_ = Phase::saving;
  if (!good(outcome)) {
    saves_.clear();
  } else if (trained && last_saved_ != course_.round() && !saves_.contains(course_.round())) {
    Progress progress = course_.progress(term_, trained_seconds(now_));
    progress.policy_state = policy_->save();
    save(progress, out);
  }
}

}  // namespace steelyard
