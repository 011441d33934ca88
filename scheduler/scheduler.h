// Scheduler: the state machine that decides on members, rounds, pieces and the end of the job. It never
// handles a tensor.
//
// It passes each message to the classes that own the parts of its state:
//
//  Members, Admission             which nodes are members, and which may join
//  Mirrors                        which shards have a mirror, and promotion
//  LoadMonitor, ProgressMonitor   detect transfers of state and workers that make no progress
//  Training                       runs the job from its first round to its end:
//    Rounds                         what to begin next, and when a round is done
//    Assignments                    which worker owes which piece, as the balancing policy decides
//    Checkpoints                    which versions are saved
//    Shutdown                       the phase of the job, and why it ends
//  Dispatch                       turns decisions into messages
//
// The job selects the sync mode (protocol/sync_mode.h) and the policy, which may be any Policy.
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

  // `from`: where to start: all zero, or the progress of a checkpoint with a raised term.
  Scheduler(Job job, const Progress& from, std::unique_ptr<balancing::Policy> policy);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  // Call after the process was killed and a new one has replayed the journal
  // (scheduler/recovery/journaled.h). The silence of members counts from now. Messages that members missed
  // are resent after their first message.
  void restarted(Time now, Outbox& out);
  // Skips a message from this node that crashed every process that handled it. Excludes the sender from the
  // job if it is a worker, a mirror, or a server with a filled mirror.
  void skipped(Time now, NodeId from, Outbox& out);
  // This process, a former standby, leads now as leader number `generation` (SchedulerBeat::generation).
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
  // Newest last: open rounds, and rounds that shards have not confirmed yet.
  [[nodiscard]] const std::list<RoundState>& rounds() const { return training_.rounds().states(); }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

  // Returns its state beyond `job` and `from`, as bytes. restore() in a scheduler constructed from the same
  // two gives an identical one, so a journal can drop its earlier records. Times are saved relative to `now`,
  // so they can be restored with another machine's clock. Each class lists its saved fields after its
  // members; fields not listed follow from the job, or are empty between two messages.
  [[nodiscard]] std::string save(Time now) const;
  // Throws Failure (io) if the bytes are not the state of such a scheduler; this object is unusable then.
  void restore(std::string_view state, Time now);

 private:
  // Joining, heartbeats, leaving.
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
  // If all members are silent at once, this process was stopped or its network failed. No member is then
  // declared lost until the members themselves would have given up. Once one member sends again, the silence
  // of the others counts from that time.
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
  Time heard_;  // the last message of any member
  Time silence_counts_from_;
  std::uint64_t ignored_ = 0;
  std::set<NodeId> shunned_;  // senders of messages that crashed a process; ignored

 public:
  void serialize(auto& fields) {
    fields(members_, training_, admission_, mirrors_, load_monitor_, progress_monitor_, reconnect_grace_,
           refusals_, next_beat_, heard_, silence_counts_from_, ignored_, shunned_);
  }
};

}  // namespace steelyard
