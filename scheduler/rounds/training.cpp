#include "scheduler/rounds/training.h"

#include <algorithm>

#include "protocol/uncounted.h"
#include "scheduler/members/liveness.h"
#include "scheduler/members/members.h"

namespace steelyard {
namespace {

// The limit of a plausible measurement, so that policies do not plan with meaningless numbers.
constexpr double longest_compute = 1e8;  // seconds of one piece: three years

constexpr const char* on_request = "ended on request";

// False for NaN.
bool is_within(double value, double most) { return value >= 0 && value <= most; }

}  // namespace

Training::Training(const Job& job, const Progress& from, std::unique_ptr<balancing::Policy> policy,
                   Members& members, Dispatch& dispatch)
    : job_(job),
      mode_(job.sync),
      term_(from.term),
      timeout_(timeout_of(job)),
      members_(members),
      dispatch_(dispatch),
      rounds_(job, from),
      assignments_(job, from, std::move(policy), members, rounds_.states()),
      checkpoints_(job, from.version > 0),
      idle_workers_(job.policy) {
  if (nn::steps_on_workers(job.optimizer)) states_.emplace(term_, from.version, members);
}

void Training::begin(Time now) {
  shutdown_.begin_training();
  checkpoints_.begin(now);
  rounds_.begin_training(now);
}

void Training::advance(Time now, Outbox& out) {
  if (phase() == Phase::running && end_rests_if_nobody_works(now, members_)) adopt_orphans(now, out);
  while (phase() == Phase::running && go_on(now, out)) {
  }
  if (std::string doubt = assignments_.take_doubt(); !doubt.empty()) Dispatch::note(std::move(doubt), out);
  // No worker is left to finish the round, or the round is so long that it is dropped and repeated on resume.
  const bool waits = phase() == Phase::running && shutdown_.requested();
  const bool drops =
      mode_.span != SyncMode::Span::batch && shutdown_.outcome().outcome == Outcome::interrupted;
  if (waits && (shutdown_.left_alone(now, anybody_works(), timeout_) || drops)) end_as_requested(now, out);
  if (phase() == Phase::saving && checkpoints_.pending().empty()) stop(now, out);
}

bool Training::go_on(Time now, Outbox& out) {
  const auto next = rounds_.next(now, shutdown_.requested());
  if (std::holds_alternative<Rounds::Wait>(next)) return run_ahead(now, out);
  std::visit(Overloaded{[](const Rounds::Wait&) {}, [&](const Rounds::OpenOldest&) { open_oldest(now, out); },
                        [&](const Rounds::FinishOldest&) { finish_oldest(now, out); },
                        [&](const Rounds::BeginTrainingRound&) { begin_round(now, out); },
                        [&](const Rounds::BeginEvaluation&) { begin_evaluation(now, out); },
                        [&](const Rounds::EndAsRequested&) { end_as_requested(now, out); },
                        [&](const EndJob& it) { end(now, it.outcome, it.text, out); }},
             next);
  return true;
}

// Gives idle workers pieces, beginning the next round early if necessary and allowed.
bool Training::run_ahead(Time now, Outbox& out) {
  const Orders taken = assignments_.hand_out(now);
  apply(now, taken, out);
  if (!taken.empty()) return true;
  if (shutdown_.requested() || !rounds_.may_run_ahead(now)) {
    apply(now, assignments_.end_waits(), out);
    return false;
  }
  if (!assignments_.anybody_idle()) return false;
  begin_round(now, out);
  return true;
}

// Backup workers: shards buffer pushes of the round until BeginRound names the positions that it keeps.
void Training::open_oldest(Time now, Outbox& out) {
  RoundState& round = *rounds_.oldest_open();
  assignments_.leave_over(now, round);
  round.opened = true;
  dispatch_.open(now, round.open(), out);
}

void Training::finish_oldest(Time now, Outbox& out) {
  RoundState& round = *rounds_.oldest_open();
  const bool saves = round.open().save, evaluation = round.purpose() == Purpose::evaluate;
  const double accuracy = evaluation ? round.accuracy(job_.labels) : 0;
  RoundRecord record = rounds_.record(now, round, members_);
  if (!evaluation) record.trials = assignments_.take_trials();
  if (!evaluation) assignments_.finish(round, record);
  Dispatch::record(std::move(record), out);
  rounds_.finish(now, round);
  if (saves) save(now, out);
  if (evaluation && job_.target_accuracy > 0 && accuracy >= job_.target_accuracy) {
    end(now, Outcome::finished, "the target accuracy is reached", out);
  }
}

void Training::begin_round(Time now, Outbox& out) {
  const EpochCursor& ahead = rounds_.ahead();
  if (const auto length = assignments_.length(ahead.round(), ahead.epoch())) rounds_.pace(*length);
  const auto [save, remark] = checkpoints_.due(now, ahead.round() + 1, ahead.saves_after_next());
  if (!remark.empty()) Dispatch::note(remark, out);
  RoundState& round = rounds_.begin(now, save);
  if (save) (void)upload_state(round.round() + 1, out);
  end_rests(members_, round.round());
  if (round.opened) dispatch_.open(now, round.open(), out);
  confirm(now);  // the shards may already have the version to compute from
  const Orders orders = assignments_.begin(now, round);
  apply(now, orders, out);
  // Elsewhere a worker without a new piece may still compute an earlier one.
  if (mode_.has_versions() && mode_.slack == 0) apply(now, idle_workers_.begin(members_, orders), out);
}

void Training::begin_evaluation(Time now, Outbox& out) {
  RoundState& evaluation = rounds_.begin_evaluation(now);
  apply(now, assignments_.begin(now, evaluation), out);
}

// The only place that executes orders.
void Training::apply(Time now, const Orders& orders, Outbox& out) {
  for (const Order& order : orders) {
    std::visit(Overloaded{[&](const Assign& it) { dispatch_.to_worker(it.slot, it.start, out); },
                          [&](const Measure& it) { dispatch_.to_worker(it.slot, it.trial, out); },
                          [&](const AskAgain& it) { dispatch_.to_worker(it.slot, it.again, out); },
                          [&](const Shorten& it) { dispatch_.to_worker(it.slot, it.cut, out); },
                          [&](const Rest& it) { (void)rest(members_, it.slot, it.round); },
                          [&](const Remark& it) { Dispatch::note(it.text, out); },
                          [&](const EndJob& it) { fail(now, it, out); }},
               order);
  }
}

void Training::beat(Time now, Outbox& out) {
  if (phase() == Phase::stopping) return Dispatch::stop(shutdown_.repeat_stop(now), shutdown_.outcome(), out);
  confirm(now);
  const auto& pending = checkpoints_.pending();
  if (phase() == Phase::saving && !anybody_works() && !pending.empty() &&
      rounds_.any_unclosed_below(pending.rbegin()->first)) {
    checkpoints_.give_up("no worker is left to finish the round");
  }
  save_again(out);
}

void Training::save_again(Outbox& out) const {
  for (const auto& [version, progress] : checkpoints_.pending()) dispatch_.save(progress, out);
}

void Training::confirm(Time now) {
  const bool nobody = shutdown_.requested() && !anybody_works();  // no report can arrive
  for (const Duration push : rounds_.confirm(now, members_.lowest_version(), nobody, timeout_)) {
    assignments_.pushed(push);
  }
}

void Training::restarted(Time now) {
  rounds_.restarted(now);
  if (phase() == Phase::stopping) shutdown_.heard(now);
}

// ---- messages

bool Training::hear(Time now, NodeId from, const Report& told, Outbox& out) {
  WorkerMember* worker = members_.worker(from);
  if (worker == nullptr || told.term != term_ || !told.piece.positions.valid() ||
      !is_within(told.seconds, longest_compute)) {
    return false;
  }
  if (told.correct != uncounted && told.correct / job_.labels > told.piece.positions.size()) {
    return false;
  }
  Report report = told;
  const MachineReading over_all = plausible({report.cpu, report.memory});
  report.cpu = over_all.cpu, report.memory = over_all.memory;
  const auto orders = assignments_.report(now, *worker, report);
  if (!orders) return false;
  worker->cpu = report.cpu;
  worker->memory = report.memory;
  worker->reading = plausible(report.now);
  if (report.piece.purpose == Purpose::train) worker->room.did(report.piece.positions.size());
  apply(now, *orders, out);
  apply(now, assignments_.steal_work(now), out);
  return true;
}

bool Training::hear(Time now, NodeId from, const PieceProgress& progress, Outbox& out) {
  const WorkerMember* worker = members_.worker(from);
  if (worker == nullptr || progress.term != term_ || !assignments_.told(now, worker->slot, progress))
    return false;
  apply(now, assignments_.steal_work(now), out);
  return true;
}

bool Training::hear(Time now, NodeId from, const CutAnswer& answer, Outbox& out) {
  const WorkerMember* worker = members_.worker(from);
  if (worker == nullptr || answer.term != term_) return false;
  const auto orders = assignments_.answer(now, worker->slot, answer);
  if (!orders) return false;
  apply(now, *orders, out);
  apply(now, assignments_.steal_work(now), out);
  return true;
}

bool Training::hear(Time now, NodeId from, const GradientRejected& refused, Outbox& out) {
  if (members_.shard(from) == nullptr || refused.term != term_ || phase() >= Phase::stopping) return false;
  const auto orders = assignments_.refuse(now, refused);
  if (!orders) return false;
  apply(now, *orders, out);
  return true;
}

bool Training::hear(Time now, NodeId from, const Covered& covered, Outbox& out) {
  const ShardMember* shard = members_.shard(from);
  RoundState* round = rounds_.training(covered.round);
  if (shard == nullptr || round == nullptr || covered.term != term_) return false;
  std::visit(
      Overloaded{[](const Rounds::Uncovered&) {},
                 [&](const Rounds::CommitAll& it) { dispatch_.commit_to_all(covered.round, it.scale, out); },
                 [&](const Rounds::CommitAgain& it) { dispatch_.commit(from, covered.round, it.scale, out); },
                 [&](const EndJob& it) { fail(now, it, out); }},
      rounds_.cover(*round, shard->slot, covered.squares));
  return true;
}

bool Training::hear(Time now, NodeId from, const Closed& closed, Outbox&) {
  ShardMember* shard = members_.shard(from);
  if (shard == nullptr || closed.term != term_ || closed.version > rounds_.ahead().round()) return false;
  shard->version = std::max(shard->version, closed.version);
  if (!closed.staleness.empty()) shard->staleness = closed.staleness;
  confirm(now);
  return true;
}

bool Training::hear(Time now, NodeId from, const ShardBeat& beat, Outbox& out) {
  ShardMember* shard = members_.shard(from);
  if (shard == nullptr || beat.term != term_ || beat.version > rounds_.ahead().round()) return false;
  shard->loaded = shard->loaded || beat.loaded;
  shard->parts = beat.parts;
  shard->parts_in_all = beat.parts_in_all;
  shard->version = std::max(shard->version, beat.version);
  if (std::exchange(shard->added, beat.added) != beat.added) shard->fed = now;
  confirm(now);
  const bool doubtful = std::exchange(shard->doubtful, false);
  for (RoundState& round : rounds_.states()) {
    if (round.purpose() != Purpose::train || !round.opened) continue;
    const bool lost = round.round() >= beat.opened && (doubtful || now - shard->opens_sent > timeout_);
    if (lost) Dispatch::open_again(from, round.open(), out);
    if (round.round() != beat.version || beat.opened <= round.round()) continue;
    for (const Interval& gap : beat.gaps) {
      if (!gap.valid() || !round.open().positions.contains(gap)) continue;
      apply(now, assignments_.repair_gap(now, round, gap, *shard), out);
    }
  }
  return true;
}

bool Training::hear(const Saved& saved, Outbox& out) {
  const auto remark = checkpoints_.answer(saved);
  if (!remark) return false;
  Dispatch::note(*remark, out);
  return true;
}

// ---- the state of workers that take the steps

bool Training::upload_state(Version version, Outbox& out) {
  if (!states_) return true;
  const auto order = states_->begin(version);
  if (order) dispatch_.to_worker(order->slot, order->upload, out);
  return order.has_value();
}

// The version that the newest begun round makes; while saving, the one that is saved.
Version Training::state_version() const {
  const auto& pending = checkpoints_.pending();
  return phase() == Phase::saving && !pending.empty() ? pending.rbegin()->first : rounds_.ahead().round();
}

void Training::upload_again(std::uint32_t slot, Outbox& out) {
  if (states_ && states_->lose(slot)) (void)upload_state(state_version(), out);
}

void Training::lacks_state(Time now, const WorkerMember& worker, const Ready& ready, Outbox& out) {
  if (!states_) return;
  upload_again(worker.slot, out);
  if (phase() >= Phase::saving) return;
  const bool saving = states_->version() && checkpoints_.pending().contains(*states_->version());
  const auto answer = states_->lacks(ready, state_version(), phase() == Phase::gathering, saving);
  if (answer.order) dispatch_.to_worker(answer.order->slot, answer.order->upload, out);
  if (answer.load) out.send<ToWorker>(worker.node, *answer.load);
  const auto has_state = [](const auto& it) { return it.second.ready; };
  if (phase() == Phase::running && std::ranges::none_of(members_.workers, has_state))
    fail(now, {Outcome::worker_failed, "no worker is left that has the model"}, out);
}

// A checkpoint of that version then fails, because the next attempt replaces it: it is taken after the next
// round instead.
bool Training::hear(NodeId from, const StateUploaded& uploaded, Outbox& out) {
  if (!states_ || uploaded.term != term_ || members_.worker(from) == nullptr) return false;
  const std::string trouble = states_->uploaded(uploaded);
  if (trouble.empty()) return true;
  Dispatch::note("worker '" + members_.worker_name(from) + "' has not uploaded its state: " + trouble, out);
  (void)upload_state(state_version(), out);
  return true;
}

void Training::lose(Time now, std::uint32_t slot, Outbox& out) {
  apply(now, assignments_.lose(now, slot), out);
  upload_again(slot, out);
}

// ---- saving and ending

void Training::interrupt(Time now, Outbox& out) {
  if (!shutdown_.request(Outcome::interrupted, on_request) || phase() >= Phase::saving) return;
  Dispatch::note(mode_.span == SyncMode::Span::batch
                     ? "stop requested: finishing the round and saving"
                     : "stop requested: saving the version before this long round",
                 out);
  if (phase() == Phase::gathering) end(now, Outcome::interrupted, "ended before the training began", out);
}

void Training::save_soon(Outbox& out) {
  if (phase() >= Phase::saving) return;  // the last checkpoint is being written
  checkpoints_.request();
  Dispatch::note("checkpoint requested: after the next round", out);
}

void Training::hear(Time now, const WorkerMember& worker, EndRequest request, Outbox& out) {
  const std::string text = "stopped on request of worker '" + worker.name + "'";
  if (shutdown_.request(Outcome::finished, text) && phase() < Phase::saving) Dispatch::note(text, out);
  if (request == EndRequest::now && phase() < Phase::saving) end_as_requested(now, out);
}

void Training::end_as_requested(Time now, Outbox& out) {
  const Stop requested = shutdown_.outcome();
  end(now, requested.outcome, requested.text, out);
}

void Training::end_if_alone(Time now, const std::string& why, Outbox& out) {
  const bool nobody =
      std::ranges::none_of(members_.workers, [](const auto& it) { return it.second.present; });
  if (phase() != Phase::gathering && !nobody) return;
  shutdown_.request(Outcome::worker_failed, why);  // do not wait for members any more
  end(now, Outcome::worker_failed, why, out);
}

void Training::save(Time now, Outbox& out) {
  Progress progress = rounds_.done().progress(term_, rounds_.trained_seconds(now));
  progress.policy_state = assignments_.policy_state();
  progress.workers = members_.names();
  if (phase() == Phase::saving && !upload_state(progress.version, out))
    return Dispatch::note("no checkpoint is written of the last rounds: no worker is left that has the model",
                          out);
  checkpoints_.ask(progress);
  dispatch_.save(progress, out);
}

// Begins nothing more. Saves the current version first, if it is whole and not saved yet.
void Training::end(Time now, Outcome outcome, std::string text, Outbox& out) {
  const bool trained = phase() == Phase::running;
  if (!shutdown_.end(outcome, std::move(text))) return;
  if (!Shutdown::leaves_model(outcome)) {
    checkpoints_.drop();
  } else if (!rounds_.can_be_saved()) {
    Dispatch::note("the open rounds cannot be finished: no checkpoint is written of them", out);
  } else if (trained && !checkpoints_.has(rounds_.done().round())) {
    save(now, out);
  }
}

void Training::fail(Time now, const EndJob& failure, Outbox& out) {
  const bool non_finite = failure.outcome == Outcome::non_finite;
  const std::string way_back = non_finite ? checkpoints_.way_back_from_non_finite() : checkpoints_.way_back();
  end(now, failure.outcome, failure.text + "; " + way_back, out);
}

// Everything that can be saved is saved: sends Stop.
void Training::stop(Time now, Outbox& out) {
  std::set<NodeId> members;
  for (const auto& [slot, worker] : members_.workers) {
    if (worker.present) members.insert(worker.node);
  }
  for (const auto& [slot, shard] : members_.shards) members.insert(shard.node);
  for (const auto& [slot, mirror] : members_.mirrors) members.insert(mirror.node);
  const std::string way_back = rounds_.training_began() ? checkpoints_.way_back() : "";
  name_last_version();
  const Stop& stop = shutdown_.stop(now, checkpoints_.trouble(), way_back, members);
  const Progress progress = rounds_.done().progress(term_, rounds_.trained_seconds(now));
  dispatch_.end({stop.outcome, stop.text, progress, members_.staleness()}, out);
  Dispatch::stop(shutdown_.repeat_stop(now), stop, out);
}

void Training::left(Time now, NodeId node, Outbox& out) {
  shutdown_.left(node);
  if (phase() != Phase::stopping || node.role != Role::worker) return;
  const std::set<NodeId> next = shutdown_.repeat_stop(now);
  const bool others = std::ranges::any_of(next, [](NodeId it) { return it.role == Role::worker; });
  if (!others) Dispatch::stop(next, shutdown_.outcome(), out);
}

// Sets the last version, if the outcome leaves one; the first present worker should save it.
void Training::name_last_version() {
  Stop last;
  last.has_last = rounds_.training_began() && Shutdown::leaves_model(shutdown_.outcome().outcome) &&
                  !(mode_.on_arrival && rounds_.oldest_open() != nullptr);
  last.last = rounds_.done().round();
  for (const auto& [slot, worker] : members_.workers) {
    if (worker.present && worker.ready && last.keeper == NodeId{}) last.keeper = worker.node;
  }
  shutdown_.go_home_with(last);
}

}  // namespace steelyard
