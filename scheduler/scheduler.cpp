// Who is there: joining, signs of life, leaving.
#include "scheduler/scheduler.h"

#include <algorithm>

#include "wire/endpoint_trouble.h"
#include "wire/name.h"

namespace steelyard {
namespace {

constexpr std::size_t members_at_most = 65'536;
constexpr Duration farewell = std::chrono::seconds(2);  // for everybody to hear Stop
constexpr std::size_t longest_failure = 2000;           // letters of what a worker says of its own

}  // namespace

Scheduler::Scheduler(Job job, const Progress& from, std::unique_ptr<balancing::Policy> policy)
    : job_(std::move(job)),
      mode_(job_.sync),
      fingerprint_(fingerprint(job_)),
      slice_count_(static_cast<std::uint32_t>(slices(job_.layout).size())),
      term_(from.term),
      policy_(std::move(policy)),
      course_(job_, from),
      ahead_(course_),
      barrier_(from.version),
      resumed_(from.version > 0),
      seconds_before_(from.seconds),
      evaluation_due_(course_.evaluates_first()) {
  if (!from.policy_state.empty()) policy_->restore(from.policy_state);
  members_.reserve(from.workers);
}

void Scheduler::step(Time now, const Envelope& in, Outbox& out) {
  const auto* message = std::get_if<ToScheduler>(&in.message);
  if (message == nullptr || finished()) return ignore();
  now_ = now;
  const bool back = hear(now, in.from);
  std::visit([&](const auto& it) { handle(now, in.from, it, out); }, *message);
  if (back) adopt_orphans(now, out);  // what it has reported is none
  advance(now, out);
}

// Whether this is somebody back who had been given up.
bool Scheduler::hear(Time now, NodeId from) {
  if (WorkerMember* worker = members_.worker(from)) {
    worker->last_heard = now;
    const bool back = !std::exchange(worker->present, true);
    if (back && mode_.slack > 0) free_.insert(worker->slot);
    return back;
  }
  if (ShardMember* shard = members_.shard(from)) {
    shard->last_heard = now;
    shard->broken = false;
  }
  return false;
}

void Scheduler::wake(Time now, Outbox& out) {
  if (finished() || now < next_beat_) return;
  now_ = now;
  next_beat_ = now + from_seconds(job_.heartbeat);
  beat(now, out);
  advance(now, out);
}

void Scheduler::beat(Time now, Outbox& out) {
  if (phase_ == Phase::stopping) return say_stop(now, out);
  const Duration dead = from_seconds(job_.dead_after);
  if (mode_.slack > 0) {
    for (const std::uint32_t slot : members_.working()) free_.insert(slot);
  }
  for (auto& [slot, worker] : members_.workers) {
    if (!worker.present) continue;
    out.send<ToWorker>(worker.node, SchedulerBeat{term_});
    if (!worker.ready) out.send<ToWorker>(worker.node, roster());
    if (now - worker.last_heard > dead) lose_worker(now, worker, "has been silent for too long", out);
  }
  std::vector<std::uint32_t> silent;
  for (const auto& [slot, shard] : members_.shards) {
    out.send<ToShard>(shard.node, SchedulerBeat{term_});
    if (now - shard.last_heard > dead) silent.push_back(slot);
  }
  for (const std::uint32_t slot : silent) lose_shard(slot, out);
  watch_headway(now, out);
  remind(now, out);
  confirm(now);
  const auto in_the_way = [&](const Work& work) {
    return work.purpose() == Purpose::train && !work.closed && work.round() < saves_.rbegin()->first;
  };
  if (phase_ == Phase::saving && members_.working().empty() && !saves_.empty() &&
      std::ranges::any_of(works_, in_the_way)) {
    give_up_saving("no worker is left to finish the round");
  }
  const bool complete = members_.shards.size() == job_.shards;
  if (members_.checkpointer && complete && !members_.all_shards_loaded(job_.shards)) {
    out.send<ToCheckpointer>(*members_.checkpointer, roster());
  }
  for (const auto& [version, progress] : std::map(saves_)) save(progress, out);
  watch_state(now, out);
}

// What is loaded or saved and does not get on is said, and given up in the end.
void Scheduler::watch_state(Time now, Outbox& out) {
  const auto say = [&](std::vector<std::string> sentences) {
    for (std::string& sentence : sentences) note(out, std::move(sentence));
  };
  if (phase_ == Phase::gathering && members_.shards.size() == job_.shards &&
      !members_.all_shards_loaded(job_.shards)) {
    say(state_watch_.loading(now, members_));
    if (const auto why = state_watch_.cannot_load(now, members_)) return end(Outcome::server_lost, *why, out);
  }
  say(state_watch_.unreached(now, members_));
  say(state_watch_.storage(now, !saves_.empty()));
  if (phase_ != Phase::saving || saves_.empty()) return;
  if (const auto why = state_watch_.cannot_save(now)) give_up_saving(*why);
}

// ---- joining

void Scheduler::handle(Time now, NodeId from, const Hello& hello, Outbox& out) {
  if (!valid_name(hello.name)) {
    return refuse(from, Refusal::name,
                  std::string("its name is none: give it a --name of ") + name_expected(), out);
  }
  if (hello.fingerprint != 0 && hello.fingerprint != fingerprint_) {
    return refuse(from, Refusal::other_job,
                  "'" + hello.name + "' was started for another job than '" + job_.name +
                      "' which runs here: start it with this job's file, or without one",
                  out);
  }
  if (phase_ == Phase::stopping) {
    return refuse(from, Refusal::finished, "the job '" + job_.name + "' is over", out);
  }
  if (members_.workers.size() + members_.shards.size() >= members_at_most) {
    return refuse(from, Refusal::full, "the job has all the members that it can have", out);
  }
  if (from.role == Role::shard) welcome_shard(now, from, hello, out);
  if (from.role == Role::worker) welcome_worker(now, from, hello, out);
}

void Scheduler::refuse(NodeId to, Refusal reason, std::string text, Outbox& out) {
  note(out, "refused " + to_string(to) + ": " + text);
  if (to.role == Role::shard) {
    out.send<ToShard>(to, Refuse{reason, std::move(text)});
  } else if (to.role == Role::worker) {
    out.send<ToWorker>(to, Refuse{reason, std::move(text)});
  }
}

void Scheduler::welcome_worker(Time now, NodeId from, const Hello& hello, Outbox& out) {
  const std::uint32_t slot = members_.worker_slot(hello.name);
  const auto former = members_.workers.find(slot);
  if (former == members_.workers.end() || former->second.node != from) {
    if (!name_is_free(now, from, hello, out)) return;
    forget_the_long_gone();
    members_.add({from, slot, hello.name, hello.kind, hello.max_batch, false, true, now, -1, -1});
    note(out, "worker '" + hello.name + "' joined");
  }
  out.send<ToWorker>(from, Welcome{term_, slot, job_});
  if (members_.shards.size() == job_.shards) out.send<ToWorker>(from, roster());
}

// A name comes back when its former bearer is gone. Whether it is, may not be known yet: a machine that lost
// its power closes no connection. So the former bearer gets the time to say a word; the newcomer asks again.
bool Scheduler::name_is_free(Time now, NodeId from, const Hello& hello, Outbox& out) {
  const auto bearer = members_.workers.find(members_.worker_slot(hello.name));
  if (bearer == members_.workers.end() || !bearer->second.present) return true;
  WorkerMember& former = bearer->second;
  if (!former.contest || now - former.contest->last > timeout()) former.contest = {now, now};
  former.contest->last = now;
  if (former.last_heard > former.contest->since) {
    former.contest.reset();
    refuse(from, Refusal::name,
           "a worker named '" + hello.name + "' is at work in this job: give this one another --name", out);
  }
  return false;
}

// Workers that left and have no part in any open work. Names that come back within reason keep their slot.
void Scheduler::forget_the_long_gone() {
  if (members_.workers.size() < 2 * std::size_t{job_.workers} + 64) return;
  members_.remove_if([&](const WorkerMember& worker) {
    const auto takes_part = [&](const Work& work) {
      return !work.select([&](const Piece& piece) { return piece.owner == worker.slot; }).empty();
    };
    return !worker.present && std::ranges::none_of(works_, takes_part);
  });
}

void Scheduler::welcome_shard(Time now, NodeId from, const Hello& hello, Outbox& out) {
  if (const std::string trouble = endpoint_trouble(hello.endpoint); !trouble.empty()) {
    return refuse(from, Refusal::endpoint,
                  "server '" + hello.name + "' says that it is to be reached at \"" + hello.endpoint +
                      "\": " + trouble +
                      "; start it with --advertise and the name or address that others see",
                  out);
  }
  const auto slot = members_.shard_slot(hello.name, job_.shards);
  if (!slot) {
    return refuse(from, Refusal::full,
                  "the job '" + job_.name + "' has all of its " + std::to_string(job_.shards) + " shards",
                  out);
  }
  const auto former = members_.shards.find(*slot);
  if (former != members_.shards.end() && former->second.node != from) {
    if (!former->second.broken && now - former->second.last_heard < from_seconds(job_.dead_after)) {
      return refuse(from, Refusal::full,
                    "a server named '" + hello.name + "' is at work here: give this one another --name", out);
    }
    if (phase_ != Phase::gathering) {
      return end(Outcome::server_lost,
                 "server '" + hello.name + "' came back without its part of the model; " + way_back(), out);
    }
    members_.shards.erase(former);
  }
  if (members_.shards
          .try_emplace(*slot, ShardMember{from, *slot, hello.name, hello.endpoint, now, {}, false, false, 0})
          .second) {
    note(out, "server '" + hello.name + "' joined at " + hello.endpoint);
    ++roster_number_;
    // Whom workers have reached was another one.
    for (auto& [number, worker] : members_.workers) worker.ready = false;
  }
  out.send<ToShard>(from, Welcome{term_, *slot, job_});
  send_roster(out);
}

Roster Scheduler::roster() const {
  Roster roster{{}, roster_number_};
  if (members_.shards.size() != job_.shards) return roster;
  const auto borders = shard_borders(slice_count_, job_.shards);
  for (const auto& [slot, shard] : members_.shards) {
    roster.shards.push_back({shard.node, shard.endpoint, borders[slot], borders[slot + 1], shard.name});
  }
  return roster;
}

void Scheduler::send_roster(Outbox& out) {
  if (members_.shards.size() != job_.shards) return;
  for (const auto& [slot, worker] : members_.workers) out.send<ToWorker>(worker.node, roster());
  if (members_.checkpointer) out.send<ToCheckpointer>(*members_.checkpointer, roster());
}

void Scheduler::handle(Time now, NodeId from, const Ready&, Outbox& out) {
  WorkerMember* worker = members_.worker(from);
  if (worker == nullptr || worker->ready) return ignore();
  worker->ready = true;
  if (mode_.slack > 0) free_.insert(worker->slot);
  adopt_orphans(now, out);
}

// ---- signs of life

void Scheduler::handle(Time now, NodeId from, const WorkerBeat& beat, Outbox& out) {
  WorkerMember* worker = members_.worker(from);
  if (beat.term != term_) return ignore();
  if (phase_ == Phase::stopping) return out.send<ToWorker>(from, stop_);  // it was not there when it was told
  if (worker == nullptr) {
    ignore();
    return out.send<ToWorker>(
        from, Stop{Outcome::interrupted, "while this worker was out of reach another one took its name"});
  }
  if (beat.roster != roster_number_ && members_.shards.size() == job_.shards)
    out.send<ToWorker>(from, roster());  // it was lost
  worker->headway.heard(now, beat);
  recover(now, *worker, beat, out);
  // What it owes and neither holds nor has reported was lost on the way to it, or its report on the way here.
  for (Work& work : works_) {
    for (const PieceId id : work.owed_by(worker->slot)) {
      const bool held = std::ranges::find(beat.held, id) != beat.held.end();
      if (held || now - work.find(id)->since <= timeout()) continue;
      work.find(id)->since = now;
      send_start(work, id, out);
    }
  }
  adopt_orphans(now, out);
}

void Scheduler::handle(Time now, NodeId from, const CheckpointerBeat& beat, Outbox& out) {
  state_watch_.heard(now, beat);
  if (members_.checkpointer == from) return;
  members_.checkpointer = from;
  send_roster(out);
}

// ---- leaving

void Scheduler::handle(Time now, NodeId from, const Leave& leave, Outbox& out) {
  forget(from);
  if (phase_ == Phase::stopping) return;
  if (from == link_node)
    return end_if_alone("a process of this job is gone for good; what it said is above, and in its log", out);
  if (WorkerMember* worker = members_.worker(from)) {
    if (!leave.failure.empty()) return fail_worker(now, *worker, leave.failure, out);
    lose_worker(now, *worker, "left", out);
  }
  if (const ShardMember* shard = members_.shard(from)) {
    note(out, "server '" + shard->name + "' was told to end: saving what there is");
    handle(now, from, Interrupt{}, out);
  }
}

void Scheduler::handle(Time now, NodeId, const Disconnected& lost, Outbox& out) {
  forget(lost.node);
  if (phase_ == Phase::stopping) return;
  if (WorkerMember* worker = members_.worker(lost.node))
    lose_worker(now, *worker, "is lost: its connection closed", out);
  if (ShardMember* shard = members_.shard(lost.node)) {
    shard->broken = true;
    note(out, "the connection to server '" + shard->name + "' broke; waiting for it to come back");
  }
}

void Scheduler::lose_worker(Time now, WorkerMember& worker, const std::string& why, Outbox& out) {
  if (!worker.present) return;
  worker.present = false;
  note(out, "worker '" + worker.name + "' " + why);
  for (Work& work : works_) {
    for (const PieceId id : work.owed_by(worker.slot)) reissue(now, work, id, out);
  }
}

// It has said why, and would again: nobody starts it once more.
void Scheduler::fail_worker(Time now, WorkerMember& worker, const std::string& failure, Outbox& out) {
  const std::string why = "failed: " + failure.substr(0, longest_failure);
  lose_worker(now, worker, why, out);
  end_if_alone("worker '" + worker.name + "' " + why, out);
}

// Somebody is gone for good. Before the training begins, the job as it was meant cannot begin; afterwards the
// others go on as long as there are any.
void Scheduler::end_if_alone(const std::string& why, Outbox& out) {
  const bool nobody =
      std::ranges::none_of(members_.workers, [](const auto& it) { return it.second.present; });
  if (phase_ != Phase::gathering && !nobody) return;
  interrupted_ = true;  // nobody is waited for any more
  end(Outcome::worker_failed, why, out);
}

// Before the training begins a server holds nothing that the checkpointer could not give to another.
void Scheduler::lose_shard(std::uint32_t slot, Outbox& out) {
  const std::string name = members_.shards.at(slot).name;
  if (phase_ == Phase::gathering) {
    note(out, "server '" + name + "' is lost; waiting for another");
    members_.shards.erase(slot);
    return;
  }
  const std::string what = "server '" + name + "' is lost, and with it its part of the model";
  end(Outcome::server_lost, what + "; " + way_back(), out);
}

void Scheduler::forget(NodeId node) { awaited_.erase(node); }

void Scheduler::handle(Time, NodeId from, const VersionMismatch& version_mismatch, Outbox& out) {
  refuse(from, Refusal::other_protocol,
         "it speaks protocol " + std::to_string(version_mismatch.protocol) +
             ", this job another: use the same release everywhere",
         out);
}

void Scheduler::handle(Time, NodeId, const Interrupt&, Outbox& out) {
  if (std::exchange(interrupted_, true) || ending_ != Outcome::running) return;
  note(out, mode_.span == SyncMode::Span::batch
                ? "told to end: finishing the round and saving"
                : "told to end: saving what was there before this long round");
  if (phase_ == Phase::gathering) end(Outcome::interrupted, "ended before the training began", out);
}

// Said again at every beat until all have left, or the timeout is over.
void Scheduler::say_stop(Time now, Outbox& out) {
  if (awaited_.empty() || now - stop_said_ > farewell) {
    phase_ = Phase::finished;
    return;
  }
  for (const NodeId node : awaited_) {
    if (node.role == Role::worker) out.send<ToWorker>(node, stop_);
    if (node.role == Role::shard) out.send<ToShard>(node, stop_);
  }
}

static_assert(Machine<Scheduler>);

}  // namespace steelyard
