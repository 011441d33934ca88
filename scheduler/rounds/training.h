// Training: runs a job from its first round to its end. Begins and finishes rounds, saves versions, and ends
// the job when it is complete or has failed.
//
// Rounds, Assignments, Checkpoints and Shutdown decide; only this class executes their decisions.
#pragma once

#include <memory>
#include <string>

#include "protocol/machine.h"
#include "scheduler/members/members.h"
#include "scheduler/members/shutdown.h"
#include "scheduler/members/state_transfers.h"
#include "scheduler/rounds/assignments.h"
#include "scheduler/rounds/checkpoints.h"
#include "scheduler/rounds/dispatch.h"
#include "scheduler/rounds/idle_workers.h"
#include "scheduler/rounds/order.h"
#include "scheduler/rounds/rounds.h"

namespace steelyard {

class Training {
 public:
  // `job`, `members` and `dispatch` belong to the caller and outlive this.
  Training(const Job& job, const Progress& from, std::unique_ptr<balancing::Policy> policy, Members& members,
           Dispatch& dispatch);

  [[nodiscard]] const Rounds& rounds() const { return rounds_; }
  [[nodiscard]] const Checkpoints& checkpoints() const { return checkpoints_; }
  [[nodiscard]] const Shutdown& shutdown() const { return shutdown_; }
  [[nodiscard]] Phase phase() const { return shutdown_.phase(); }
  [[nodiscard]] const SyncMode& mode() const { return mode_; }

  // Shards and workers are ready: training begins.
  void begin(Time now);
  // Does everything that has become possible. Call after every message and every beat.
  void advance(Time now, Outbox& out);
  // Repeats what is due with every heartbeat of the scheduler.
  void beat(Time now, Outbox& out);

  // This process continues the job of another one: all timeouts start again.
  void restarted(Time now);

  // Returns false if the message is late, repeated or unknown.
  bool hear(Time now, NodeId from, const Report& report, Outbox& out);
  bool hear(Time now, NodeId from, const PieceProgress& progress, Outbox& out);
  bool hear(Time now, NodeId from, const CutAnswer& answer, Outbox& out);
  bool hear(Time now, NodeId from, const GradientRejected& refused, Outbox& out);
  bool hear(Time now, NodeId from, const Covered& covered, Outbox& out);
  bool hear(Time now, NodeId from, const Closed& closed, Outbox&);
  bool hear(Time now, NodeId from, const ShardBeat& beat, Outbox& out);
  bool hear(const Saved& saved, Outbox& out);
  bool hear(NodeId from, const StateUploaded& uploaded, Outbox& out);

  // The worker lacks the state of the model, in a job whose workers take the steps: finds another worker's.
  void lacks_state(Time now, const WorkerMember& worker, const Ready& ready, Outbox& out);
  // Messages to the worker in this slot may be lost: if it uploads its state, begins that again.
  void upload_again(std::uint32_t slot, Outbox& out);
  // The worker in this slot joined or came back, and may be idle.
  void may_be_idle(std::uint32_t slot) { assignments_.may_be_idle(slot); }
  // Assigns pieces without an owner, if a worker is available.
  void adopt_orphans(Time now, Outbox& out) { apply(now, assignments_.adopt_orphans(now), out); }
  // Gives the pieces of the worker in this slot to others.
  void release(Time now, std::uint32_t slot, Outbox& out) {
    apply(now, assignments_.release(now, slot), out);
  }
  // The same for a worker that is lost.
  void lose(Time now, std::uint32_t slot, Outbox& out);
  // As Assignments::repeat_lost().
  void repeat_lost(Time now, std::uint32_t slot, const std::vector<PieceId>& held, bool doubtful,
                   Outbox& out) {
    apply(now, assignments_.repeat_lost(now, slot, held, doubtful), out);
  }

  // An orderly end of the job was requested, from outside or by the program of a worker.
  void interrupt(Time now, Outbox& out);
  void save_soon(Outbox& out);  // requests a checkpoint after the next round
  void hear(Time now, const WorkerMember& worker, EndRequest request, Outbox& out);
  // A process exited for good. Ends the job if training has not begun, because a member would be missing, or
  // if no worker is present.
  void end_if_alone(Time now, const std::string& why, Outbox& out);
  void end(Time now, Outcome outcome, std::string text, Outbox& out);
  // As end(), for a failure; adds to the text how users can continue.
  void fail(Time now, const EndJob& failure, Outbox& out);
  void save_again(Outbox& out) const;  // repeats unanswered Saves, oldest first
  void give_up_saving(const std::string& why) { checkpoints_.give_up(why); }
  void left(Time now, NodeId node, Outbox& out);         // it left, or its connection closed
  void heard_at_end(Time now) { shutdown_.heard(now); }  // a worker that pulls the last version

 private:
  bool go_on(Time now, Outbox& out);  // does one thing that has become possible; false if nothing has
  bool run_ahead(Time now, Outbox& out);
  void open_oldest(Time now, Outbox& out);
  void finish_oldest(Time now, Outbox& out);
  void name_last_version();
  void begin_round(Time now, Outbox& out);
  void begin_evaluation(Time now, Outbox& out);
  void confirm(Time now);
  void save(Time now, Outbox& out);
  bool upload_state(Version version, Outbox& out);  // false: no worker has the state
  [[nodiscard]] Version state_version() const;
  void end_as_requested(Time now, Outbox& out);
  void stop(Time now, Outbox& out);
  void apply(Time now, const Orders& orders, Outbox& out);
  [[nodiscard]] bool anybody_works() const { return members_.anybody_works(); }

  const Job& job_;
  const SyncMode mode_;
  const Term term_;
  const Duration timeout_;
  Members& members_;
  Dispatch& dispatch_;
  Rounds rounds_;
  Assignments assignments_;
  Checkpoints checkpoints_;
  IdleWorkers idle_workers_;
  Shutdown shutdown_;
  std::optional<StateTransfers> states_;  // if workers take the steps

 public:
  void serialize(auto& fields) {
    fields(rounds_, assignments_, checkpoints_, idle_workers_, shutdown_);
    if (states_) fields(*states_);
  }
};

}  // namespace steelyard
