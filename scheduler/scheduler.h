// Scheduler: the machine that decides on members, rounds, pieces and the end of the job. Never sees a tensor.
//
// Takes messages and asks the classes that own the parts of its state; each header says what is decided
// there:
//
//  Members, Admission           which nodes are there, and which may join
//  Mirrors                      which shards may be lost, and what follows
//  LoadMonitor, ProgressMonitor     what makes no progress: loading and saving, workers
//  Training                     takes the job from its first round to its end:
//    Rounds                       what is begun next, what is done
//    Assignments                  which worker owes which piece, as the balancing policy says
//    Checkpoints                  which versions are saved
//    Shutdown                     the phase of the job, and why it ends
//  Dispatch                     decisions as messages
//
// The sync mode is the job's (protocol/sync_mode.h), and so is the policy; anything that can be a Policy
// fits.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "protocol/machine.h"
#include "scheduler/members/admission.h"
#include "scheduler/members/awaited.h"
#include "scheduler/members/liveness.h"
#include "scheduler/members/load_monitor.h"
#include "scheduler/members/members.h"
#include "scheduler/members/mirrors.h"
#include "scheduler/rounds/dispatch.h"
#include "scheduler/rounds/progress_monitor.h"
#include "scheduler/rounds/training.h"

namespace steelyard {

class Scheduler {
 public:
  using Phase = steelyard::Phase;

  // `from` is where to begin: all zero, or a checkpoint's progress with a raised term.
  Scheduler(Job job, const Progress& from, std::unique_ptr<balancing::Policy> policy);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  // Its process was killed, and another one has made it anew (scheduler/recovery/journaled.h). Silence counts
  // from now; what members miss of what was said is said again with their first word.
  void restarted(Time now, Outbox& out);
  // A message from this node ended each process that acted on it, and this one does not. A worker or mirror
  // that sends such messages, or a server whose mirror can take its place, has no part in the job any more.
  void skipped(Time now, NodeId from, Outbox& out);
  // A standby leads now: the number of this leader (SchedulerBeat::generation).
  void lead(std::uint64_t generation) { members_.generation = generation; }
  [[nodiscard]] Time deadline() const { return finished() ? Time::max() : next_beat_; }
  [[nodiscard]] bool finished() const { return phase() == Phase::finished; }

  [[nodiscard]] const Stop& outcome() const { return training_.shutdown().outcome(); }
  [[nodiscard]] Phase phase() const { return training_.phase(); }
  [[nodiscard]] Term term() const { return term_; }
  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] const EpochCursor& cursor() const {
    return training_.rounds().done();
  }  // at the first round not done
  [[nodiscard]] const SyncMode& mode() const { return training_.mode(); }
  [[nodiscard]] std::uint64_t grain() const { return job_.grain; }
  // Newest last: the open ones, and those that shards have not confirmed yet.
  [[nodiscard]] const std::list<RoundState>& rounds() const { return training_.rounds().states(); }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

  // All that it knows beyond its job and where that began, as bytes. They make the same scheduler of one that
  // was just made of both, so that a journal need not tell what came before. Times are saved as distances
  // from `now`, so the clock may be another machine's. Each class of which it consists lists its fields
  // behind its members; a field that is missing there is made of the job, or is empty between two messages.
  [[nodiscard]] std::string save(Time now) const;
  // Throws Failure (io) where the bytes are none of such a scheduler's, which is of no use then.
  void restore(std::string_view state, Time now);

 private:
  // Joining, signs of life, leaving.
  void handle(Time now, NodeId from, const Hello& hello, Outbox& out);
  void handle(Time now, NodeId from, const Ready& ready, Outbox& out);
  void handle(Time now, NodeId from, const WorkerBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const CheckpointerBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const Goodbye& leave, Outbox& out);
  void handle(Time now, NodeId from, const Disconnected& lost, Outbox& out);
  void handle(Time now, NodeId from, const VersionMismatch& version_mismatch, Outbox& out);
  void refuse(Time now, NodeId from, const Refuse& why, Outbox& out);
  bool hear(Time now, NodeId from, Outbox& out);
  void lose(Time now, NodeId node, Outbox& out);
  // Where all members are silent at once, it is this process that was stopped, or its line that is cut.
  // Nobody is given up then, for as long as members bear this silence; and when one is heard, the silence of
  // the others counts from then on.
  [[nodiscard]] bool hears_nobody(Time now) const;
  void hear_after_silence(Time now, NodeId from, Outbox& out);
  void settle_after_silence(Time now);
  void lose_worker(Time now, WorkerMember& worker, const std::string& why, Outbox& out);
  bool promote_mirror(std::uint32_t slot, Outbox& out);
  void miss_shard(Time now, std::uint32_t slot, Outbox& out);
  void lose_shard(Time now, const ShardMember& shard, EndOfWait why, Outbox& out);
  void lose_closed_shards(Time now, Outbox& out);
  void end_wait_for(Time now, ShardMember& server, Outbox& out);
  void beat(Time now, Outbox& out);
  void beat_members(Outbox& out);
  void give_up_silent(Time now, Outbox& out);
  void watch_state(Time now, Outbox& out);
  void watch_progress(Time now, Outbox& out);
  void watch_crowding(Time now, Outbox& out);

  // The training.
  void handle(Time now, NodeId from, const ShardBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const Saved& saved, Outbox& out);
  void handle(Time now, NodeId from, const Interrupt& interrupt, Outbox& out);
  void advance(Time now, Outbox& out);
  void ignore() { ++ignored_; }
  void count(bool heeded) { ignored_ += heeded ? 0 : 1; }

  const Job job_;
  const Term term_;
  Members members_;
  Training training_;
  Admission admission_;
  Mirrors mirrors_;
  LoadMonitor load_monitor_;
  ProgressMonitor progress_monitor_;
  ReconnectGrace reconnect_grace_;
  Refusals refusals_;
  Dispatch dispatch_;
  Time next_beat_;
  Time heard_;  // when any member was, last
  Time silence_counts_from_;
  std::uint64_t ignored_ = 0;
  std::set<NodeId> shunned_;  // nodes that sent what ended a process

 public:
  void serialize(auto& fields) {
    fields(members_, training_, admission_, mirrors_, load_monitor_, progress_monitor_, reconnect_grace_,
           refusals_, next_beat_, heard_, silence_counts_from_, ignored_, shunned_);
  }
};

}  // namespace steelyard
