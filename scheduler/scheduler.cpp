#include "scheduler/scheduler.h"

#include "core/error.h"
#include "protocol/archive.h"
#include "scheduler/members/liveness.h"
#include "scheduler/members/worker_profile.h"

namespace steelyard {
namespace {

constexpr std::size_t longest_failure = 2000;  // characters kept of a worker's failure text
constexpr Duration longest_silence_of_all =
    std::chrono::seconds(60);  // or heartbeat_timeout, if that is longer

// Messages that only Training handles.
template <class Said>
concept OfTraining = OneOf<Said, PieceProgress, CutAnswer, Report, GradientRejected, Covered, Closed>;

// Every member sends several times a second, so this long without any message is unusual.
constexpr Duration unheard = std::chrono::seconds(2);

}  // namespace

Scheduler::Scheduler(Job job, const Progress& from, std::unique_ptr<balancing::Policy> policy)
    : job_(std::move(job)),
      term_(from.term),
      training_(job_, from, std::move(policy), members_, dispatch_),
      admission_(job_, members_, training_.rounds().states()),
      mirrors_(job_, term_, members_),
      progress_monitor_(job_, members_, training_.rounds().states()),
      dispatch_(job_, term_, members_, admission_) {
  members_.reserve(from.workers);
}

void Scheduler::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToScheduler>(&in.message);
  if (message == nullptr || finished() || shunned_.contains(in.from)) return ignore();
  hear_after_silence(now, in.from, out);
  if (ShardMember* server = members_.shard(in.from)) end_wait_for(now, *server, out);
  const bool back = hear(now, in.from, out);
  std::visit(
      Overloaded{[&]<OfTraining Said>(const Said& it) { count(training_.hear(now, in.from, it, out)); },
                 [&](const StateUploaded& it) { count(training_.hear(in.from, it, out)); },
                 [&]<OfStandbyFeed Said>(const Said&) { ignore(); },
                 [&]<OfModelIntake Said>(const Said&) { ignore(); },  // for ModelIntake, which ran before
                 [&](const auto& it) { handle(now, in.from, it, out); }},
      *message);
  if (back) training_.adopt_orphans(now, out);  // after its report, which may cover an orphan
  advance(now, out);
}

void Scheduler::wake(Time now, Outbox& out) {
  if (finished() || now < next_beat_) return;
  next_beat_ = now + from_seconds(job_.heartbeat);
  beat(now, out);
  advance(now, out);
}

void Scheduler::restarted(Time now, Outbox& out) {
  if (finished()) return;
  members_.hear_all(now);
  reconnect_grace_.begin(now);
  heard_ = now;
  training_.restarted(now);
  Dispatch::note("the scheduler was restarted; the job continues", out);
}

void Scheduler::skipped(Time now, NodeId from, Outbox& out) {
  if (finished()) return;
  const std::string what = "skipped a message that crashed the scheduler more than once";
  const std::string why =
      "sent a message that crashed the scheduler more than once, and is excluded from the job";
  if (WorkerMember* worker = members_.worker(from)) {
    lose_worker(now, *worker, why, out);
  } else if (const ShardMember* shard = members_.shard(from);
             shard != nullptr && !promote_mirror(shard->slot, out)) {
    return Dispatch::note(
        "warning: " + what + "; server '" + shard->name + "' sent it and has no mirror to replace it", out);
  } else if (!mirrors_.lose(from, why, out)) {
    Dispatch::note("warning: " + what, out);
  }
  const bool member = from.role == Role::worker || from.role == Role::shard;
  if (!member) return;
  shunned_.insert(from);
  Dispatch::stop({from}, {Outcome::interrupted, "this process sent a message that crashed the scheduler"},
                 out);
}

std::string Scheduler::save(Time now) const {
  Writer writer;
  writer.now = now;
  writer(*this);
  return {reinterpret_cast<const char*>(writer.header.data()), writer.header.size()};
}

void Scheduler::restore(std::string_view state, Time now) {
  Reader reader(std::as_bytes(std::span(state)), {});
  reader.now = now;
  try {
    reader(*this);
    if (reader.remaining() != 0) throw Malformed("has trailing bytes");
  } catch (const std::exception& trouble) {
    throw Failure(ExitCode::io, std::string("cannot restore the scheduler's saved state: ") + trouble.what());
  }
}

void Scheduler::advance(Time now, Outbox& out) {
  if (mirrors_.take_lost()) {
    admission_.change_roster();
    dispatch_.roster_to_all(out);
  }
  if (phase() == Phase::gathering && members_.all_shards_loaded(job_.shards) && mirrors_.all_filled() &&
      progress_monitor_.enough_workers(now)) {
    training_.begin(now);
    watch_crowding(now, out);  // workers without room get no piece of the first round
  }
  training_.advance(now, out);
}

// ---- joining

void Scheduler::handle(Time now, NodeId from, const Hello& hello, Outbox& out) {
  std::visit(Overloaded{[&](const Admission::Admitted& it) {
                          if (!it.remark.empty()) Dispatch::note(it.remark, out);
                          dispatch_.welcome(from, it.slot, out);
                          if (from.role == Role::shard && !it.remark.empty()) mirrors_.joined(it.slot, out);
                          if (it.mirror && it.remark.empty()) return;
                          if (it.mirror) admission_.change_roster();
                          if (from.role == Role::shard) return dispatch_.roster_to_all(out);
                          if (admission_.has_all_shards()) dispatch_.roster(from, out);
                        },
                        [&](const Admission::Refused& it) {
                          refuse(now, from, {it.reason, it.text}, out);
                        },
                        [](const Admission::AskAgainLater&) {},
                        [&](const EndJob& it) { training_.fail(now, it, out); }},
             admission_.answer(now, from, hello, phase()));
}

void Scheduler::handle(Time now, NodeId from, const Ready& ready, Outbox& out) {
  WorkerMember* worker = members_.worker(from);
  if (worker == nullptr || (worker->ready && ready.has_state)) return ignore();
  if (!ready.has_state) {
    if (std::exchange(worker->ready, false)) training_.release(now, worker->slot, out);
    return training_.lacks_state(now, *worker, ready, out);
  }
  worker->ready = true;
  std::string profile = adopt_profile(job_, ready, *worker);
  if (!profile.empty()) Dispatch::note(std::move(profile), out);
  if (!ready.computing.empty())
    Dispatch::note("worker '" + worker->name + "' computes with " + ready.computing, out);
  training_.may_be_idle(worker->slot);
  training_.adopt_orphans(now, out);
}

void Scheduler::handle(Time now, NodeId from, const VersionMismatch& version_mismatch, Outbox& out) {
  refuse(now, from,
         {Refusal::other_protocol, "it uses protocol " + std::to_string(version_mismatch.protocol) +
                                       ", this job another: use the same release everywhere"},
         out);
}

void Scheduler::refuse(Time now, NodeId from, const Refuse& why, Outbox& out) {
  if (auto note = refusals_.refused(now, from, why)) Dispatch::note(std::move(*note), out);
  Dispatch::to_member(from, why, out);
}

// ---- heartbeats

bool Scheduler::hears_nobody(Time now) const {
  const Duration silence = now - heard_, dead = from_seconds(job_.heartbeat_timeout);
  return phase() != Phase::gathering && silence > dead / 2 &&
         silence < std::max<Duration>(dead, longest_silence_of_all);
}

void Scheduler::hear_after_silence(Time now, NodeId from, Outbox& out) {
  if (members_.worker(from) == nullptr && members_.shard(from) == nullptr &&
      members_.mirror(from) == nullptr) {
    return;
  }
  settle_after_silence(now);
  if (hears_nobody(now)) silence_counts_from_ = now;
  if (hears_nobody(now) && now - heard_ > from_seconds(job_.heartbeat_timeout)) {
    const auto seconds = std::chrono::round<std::chrono::seconds>(now - heard_).count();
    Dispatch::note("no member sent anything for " + std::to_string(seconds) +
                       " s: this process was stopped, or its network failed; the job continues",
                   out);
  }
  heard_ = now;
}

// Members that get no answer reconnect. This process notices the end of their former connections only now; it
// does not mean that they are lost.
void Scheduler::settle_after_silence(Time now) {
  if (phase() != Phase::gathering && now - heard_ > unheard) reconnect_grace_.begin(now);
}

// Returns whether `from` is a worker that had been declared lost and is back.
bool Scheduler::hear(Time now, NodeId from, Outbox& out) {
  reconnect_grace_.heard(from);
  // Until it has received a heartbeat of this scheduler, it follows one at another endpoint
  // (transport/leader.h).
  if (members_.is_doubtful(from)) dispatch_.heartbeat(from, out);
  if (WorkerMember* worker = members_.worker(from)) {
    heard(*worker, now);
    const bool back = !std::exchange(worker->present, true);
    if (back) training_.may_be_idle(worker->slot);
    return back;
  }
  if (ShardMember* shard = members_.shard(from)) {
    heard(*shard, now);
    shard->broken = false;
  }
  mirrors_.heard(now, from);
  return false;
}

void Scheduler::handle(Time now, NodeId from, const WorkerBeat& beat, Outbox& out) {
  WorkerMember* worker = members_.worker(from);
  if (beat.term != term_) return ignore();
  if (phase() == Phase::stopping) {
    training_.heard_at_end(now);
    return Dispatch::stop({from}, outcome(), out);  // it may have missed the first Stop
  }
  if (worker == nullptr) {
    ignore();
    const char* why = "another worker took this worker's name while it was unreachable";
    return Dispatch::stop({from}, {Outcome::interrupted, why}, out);
  }
  const bool lost_roster = beat.roster != admission_.roster_number();
  if (lost_roster && admission_.has_all_shards()) dispatch_.roster(from, out);
  worker->progress.heard(now, beat);
  worker->room.heard(now, beat.left);
  worker->reading = plausible(beat.now);
  if (ProgressMonitor::gets_on_again(now, *worker, beat)) {
    worker->stalled = false;
    Dispatch::note("worker '" + worker->name + "' makes progress again", out);
    training_.may_be_idle(worker->slot);
  }
  if (beat.end != EndRequest::none) training_.hear(now, *worker, beat.end, out);
  const bool doubtful = std::exchange(worker->doubtful, false);
  if (doubtful) training_.upload_again(worker->slot, out);
  training_.repeat_lost(now, worker->slot, beat.held, doubtful, out);
  training_.adopt_orphans(now, out);
}

void Scheduler::handle(Time now, NodeId from, const CheckpointerBeat& beat, Outbox& out) {
  load_monitor_.heard(now, beat);
  if (members_.checkpointer == from) {
    const bool lost_roster = beat.roster != admission_.roster_number() && admission_.has_all_shards();
    return lost_roster ? dispatch_.roster_to_checkpointer(out) : void();
  }
  members_.checkpointer = from;
  dispatch_.roster_to_all(out);
  training_.save_again(out);
}

void Scheduler::beat(Time now, Outbox& out) {
  if (auto note = refusals_.due(now)) Dispatch::note(std::move(*note), out);
  if (phase() == Phase::stopping) return training_.beat(now, out);
  for (const std::uint32_t slot : members_.working()) training_.may_be_idle(slot);
  for (const NodeId node : reconnect_grace_.gone(now)) lose(now, node, out);
  beat_members(out);
  give_up_silent(now, out);
  watch_progress(now, out);
  watch_crowding(now, out);
  training_.beat(now, out);
  if (admission_.has_all_shards() && !members_.all_shards_loaded(job_.shards)) {
    dispatch_.roster_to_checkpointer(out);
  }
  watch_state(now, out);
}

// Sends a heartbeat to every member.
void Scheduler::beat_members(Outbox& out) {
  for (auto& [slot, worker] : members_.workers) {
    if (!worker.present) continue;
    dispatch_.heartbeat(worker.node, out);
    if (!worker.ready) dispatch_.roster(worker.node, out);
  }
  for (const auto& [slot, shard] : members_.shards) dispatch_.heartbeat(shard.node, out);
  mirrors_.beat(out);
}

void Scheduler::give_up_silent(Time now, Outbox& out) {
  const Duration dead = from_seconds(job_.heartbeat_timeout);
  if (hears_nobody(now)) return;
  const auto gone = [&](const auto& it) {
    return now - std::max(it.last_heard, silence_counts_from_) > dead;
  };
  for (auto& [slot, worker] : members_.workers) {
    if (gone(worker)) lose_worker(now, worker, "has been silent for too long", out);
  }
  std::vector<std::uint32_t> silent;
  for (const auto& [slot, shard] : members_.shards) {
    if (gone(shard) || mirrors_.better_than(shard, now)) silent.push_back(slot);
  }
  for (const std::uint32_t slot : silent) miss_shard(now, slot, out);
  mirrors_.give_up_silent(gone, out);
}

void Scheduler::watch_progress(Time now, Outbox& out) {
  for (auto& [slot, worker] : members_.workers) {
    const bool cut_off = worker.present && !worker.ready && progress_monitor_.is_cut_off(now, worker);
    if (cut_off && !worker.cut_off_said) Dispatch::note(progress_monitor_.what_is_missing(now, worker), out);
    worker.cut_off_said = cut_off;
  }
  if (phase() == Phase::gathering) {
    for (std::string& sentence : progress_monitor_.waiting_for(now)) Dispatch::note(std::move(sentence), out);
  }
  if (phase() != Phase::running || !progress_monitor_.shards_answer(now)) return;
  for (const std::uint32_t slot : members_.working()) {
    WorkerMember& worker = members_.workers.at(slot);
    if (!progress_monitor_.is_stalled(now, worker)) continue;
    worker.stalled = true;
    Dispatch::note(progress_monitor_.what_is_missing(now, worker), out);
    training_.release(now, slot, out);
  }
}

void Scheduler::watch_crowding(Time now, Outbox& out) {
  if (phase() != Phase::running) return;
  for (const std::uint32_t slot : to_come_back(members_, now)) {
    WorkerMember& worker = members_.workers.at(slot);
    worker.room.come_back(now);
    Dispatch::note(comes_back(worker), out);
    training_.may_be_idle(slot);
  }
  for (const std::uint32_t slot : to_leave(members_, training_.rounds().states(), now, job_)) {
    WorkerMember& worker = members_.workers.at(slot);
    worker.room.leave(now);
    Dispatch::note(leaves(worker), out);
    training_.release(now, slot, out);
  }
}

// Reports loading or saving that makes no progress, and gives it up after LoadMonitor::given_up.
void Scheduler::watch_state(Time now, Outbox& out) {
  const auto say = [&](std::vector<std::string> sentences) {
    for (std::string& sentence : sentences) Dispatch::note(std::move(sentence), out);
  };
  if (phase() == Phase::gathering && admission_.has_all_shards() &&
      !members_.all_shards_loaded(job_.shards)) {
    say(load_monitor_.loading(now, members_));
    const auto why = load_monitor_.cannot_load(now, members_);
    if (why) return training_.end(now, Outcome::server_lost, *why, out);
  }
  say(load_monitor_.unreached(now, members_));
  say(load_monitor_.storage(now, !training_.checkpoints().pending().empty()));
  if (phase() != Phase::saving) return;
  if (const auto why = load_monitor_.cannot_save(now)) training_.give_up_saving(*why);
}

// ---- leaving

void Scheduler::handle(Time now, NodeId from, const Goodbye& leave, Outbox& out) {
  training_.left(now, from, out);
  if (phase() >= Phase::stopping) return;
  if (from == link_node) {
    lose_closed_shards(now, out);
    return training_.end_if_alone(
        now, "a process of this job exited for good; see its messages above or its log", out);
  }
  if (WorkerMember* worker = members_.worker(from)) {
    const bool failed = !leave.failure.empty();  // it would fail again, so it is not restarted
    const std::string why = failed ? "failed: " + leave.failure.substr(0, longest_failure) : "left";
    lose_worker(now, *worker, why, out);
    worker->ready = false;  // it has exited
    if (failed) return training_.end_if_alone(now, "worker '" + worker->name + "' " + why, out);
  }
  const ShardMember* shard = members_.shard(from);
  if (mirrors_.lose(from, "left", out) || (shard != nullptr && promote_mirror(shard->slot, out))) {
    return Dispatch::stop({from}, {Outcome::interrupted, "the job continues without this server"}, out);
  }
  if (shard != nullptr) {
    Dispatch::note("server '" + shard->name + "' was asked to exit: saving and ending the job", out);
    training_.interrupt(now, out);
  }
}

void Scheduler::handle(Time now, NodeId, const Disconnected& lost, Outbox& out) {
  training_.left(now, lost.node, out);
  if (phase() >= Phase::stopping) return;
  settle_after_silence(now);
  if (reconnect_grace_.defers(now, lost.node)) return members_.doubt(lost.node);
  lose(now, lost.node, out);
}

void Scheduler::lose(Time now, NodeId node, Outbox& out) {
  if (WorkerMember* worker = members_.worker(node))
    lose_worker(now, *worker, "is lost: its connection closed", out);
  if (mirrors_.lose(node, "is lost: its connection closed", out)) return;
  if (ShardMember* shard = members_.shard(node)) {
    if (promote_mirror(shard->slot, out)) return;
    if (!std::exchange(shard->broken, true)) shard->broken_since = now;
    shard->doubtful = true;
    Dispatch::note("the connection to server '" + shard->name + "' broke; waiting for it to reconnect", out);
  }
}

void Scheduler::lose_worker(Time now, WorkerMember& worker, const std::string& why, Outbox& out) {
  if (!worker.present) return;
  worker.present = false;
  const bool alone = phase() == Phase::running && !members_.anybody_works();
  Dispatch::note("worker '" + worker.name + "' " + why + (alone ? "; no worker is left" : ""), out);
  training_.lose(now, worker.slot, out);
}

// ---- the training

void Scheduler::handle(Time now, NodeId from, const ShardBeat& beat, Outbox& out) {
  if (beat.term != term_) return;
  if (members_.mirror(from) != nullptr) return mirrors_.heard(now, from, beat.mirror, out);
  if (members_.shard(from) == nullptr && phase() < Phase::stopping) {
    ignore();
    return out.send<ToShard>(from, Refuse{Refusal::replaced, "another server has taken its place"});
  }
  mirrors_.heard(now, from, beat.mirror, out);
  count(training_.hear(now, from, beat, out));
}
void Scheduler::handle(Time now, NodeId, const Saved& saved, Outbox& out) {
  load_monitor_.answered(now);
  count(training_.hear(saved, out));
}
void Scheduler::handle(Time now, NodeId, const Interrupt& it, Outbox& out) {
  if (it.save_only) return training_.save_soon(out);
  training_.interrupt(now, out);
}

static_assert(Machine<Scheduler>);

}  // namespace steelyard
