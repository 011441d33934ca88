// Scheduler: decides. Who belongs, which round is open, who owes which positions, when it is over.
//
// Never sees a tensor. A round k is begun when the pieces reported cover all rounds below k - slack; no shard
// is asked. What was lost on the way is found by comparing what the others say they hold (their heartbeats)
// with what is owed, and said again.
//
// With slack, a round is begun ahead of time when somebody has nothing left to do. Whatever needs one whole
// version - an evaluation, a checkpoint, the end - is a barrier: everything that was begun is done first, and
// what comes after it is computed from no less.
//
// The sync mode is the job's (wire/sync_mode.h), and so is the policy; anything that can be a Policy fits.
#pragma once

#include <list>
#include <memory>
#include <set>
#include <string>

#include "balancing/policy.h"
#include "scheduler/course.h"
#include "scheduler/members.h"
#include "scheduler/state_watch.h"
#include "scheduler/work.h"
#include "wire/machine.h"

namespace steelyard {

class Scheduler {
 public:
  enum class Phase { gathering, running, saving, stopping, finished };

  // `from` is where to begin: all zero, or a checkpoint's progress (its term raised by whoever resumes).
  Scheduler(Job job, const Progress& from, std::unique_ptr<balancing::Policy> policy);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return phase_ == Phase::finished ? Time::max() : next_beat_; }
  [[nodiscard]] bool finished() const { return phase_ == Phase::finished; }

  [[nodiscard]] const Stop& outcome() const { return stop_; }
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const Members& members() const { return members_; }
  [[nodiscard]] const Course& course() const { return course_; }
  [[nodiscard]] const SyncMode& mode() const { return mode_; }
  // Newest last: the open ones, and those that shards have not confirmed yet.
  [[nodiscard]] const std::list<Work>& works() const { return works_; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

 private:
  // scheduler.cpp: who is there
  void handle(Time now, NodeId from, const Hello& hello, Outbox& out);
  void handle(Time now, NodeId from, const Ready& ready, Outbox& out);
  void handle(Time now, NodeId from, const WorkerBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const CheckpointerBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const Leave& leave, Outbox& out);
  void handle(Time now, NodeId from, const Disconnected& lost, Outbox& out);
  void handle(Time now, NodeId from, const VersionMismatch& version_mismatch, Outbox& out);
  void handle(Time now, NodeId from, const Interrupt& interrupt, Outbox& out);
  void welcome_worker(Time now, NodeId from, const Hello& hello, Outbox& out);
  void forget_the_long_gone();
  void welcome_shard(Time now, NodeId from, const Hello& hello, Outbox& out);
  void refuse(NodeId to, Refusal reason, std::string text, Outbox& out);
  void lose_worker(Time now, WorkerMember& worker, const std::string& why, Outbox& out);
  void fail_worker(Time now, WorkerMember& worker, const std::string& failure, Outbox& out);
  void end_if_alone(const std::string& why, Outbox& out);
  void lose_shard(std::uint32_t slot, Outbox& out);
  void forget(NodeId node);  // while stopping: one less to wait for
  [[nodiscard]] Roster roster() const;
  void send_roster(Outbox& out);
  void beat(Time now, Outbox& out);
  void remind(Time now, Outbox& out);
  void watch_state(Time now, Outbox& out);
  bool hear(Time now, NodeId from);
  [[nodiscard]] bool name_is_free(Time now, NodeId from, const Hello& hello, Outbox& out);
  [[nodiscard]] bool enough_workers(Time now) const;

  // headway: who is there and does not get on (scheduler/stalls.cpp)
  void watch_headway(Time now, Outbox& out);
  void stall(Time now, WorkerMember& worker, Outbox& out);
  void recover(Time now, WorkerMember& worker, const WorkerBeat& beat, Outbox& out);
  [[nodiscard]] std::optional<Time> could_begin(const WorkerMember& worker) const;
  [[nodiscard]] bool is_cut_off(Time now, const WorkerMember& worker) const;
  [[nodiscard]] bool shards_answer(Time now) const;
  [[nodiscard]] std::string what_is_missing(Time now, const WorkerMember& worker) const;

  // rounds.cpp: the rounds
  void handle(Time now, NodeId from, const Report& report, Outbox& out);
  void handle(Time now, NodeId from, const NonFinite& refused, Outbox& out);
  void handle(Time now, NodeId from, const Covered& covered, Outbox& out);
  void handle(Time now, NodeId from, const Closed& closed, Outbox& out);
  void handle(Time now, NodeId from, const ShardBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const Saved& saved, Outbox& out);
  void advance(Time now, Outbox& out);
  bool left_alone(Time now);
  bool go_on(Time now, Outbox& out);  // one thing that has become possible; false: there is none
  void finish(Time now, Work& work, Outbox& out);
  void proceed(Time now, Outbox& out);  // all that was begun is done
  [[nodiscard]] bool may_run_ahead(Time now);
  // Policies compare the workers of one round. Where rounds that are dealt out overlap, they see them one
  // after the other, as they are done.
  [[nodiscard]] bool in_order() const { return mode_.slack > 0 && !mode_.on_demand; }
  void begin_round(Time now, Outbox& out);
  bool saves_next(Time now, Outbox& out);
  void begin_evaluation(Time now, Outbox& out);
  void record(Time now, const Work& work, Outbox& out);
  [[nodiscard]] Staleness staleness() const;
  void confirm(Time now);
  [[nodiscard]] Progress present(Time now) const;
  void save(const Progress& progress, Outbox& out);
  void give_up_saving(const std::string& why);
  void end(Outcome outcome, std::string text, Outbox& out);
  [[nodiscard]] std::string way_back() const;  // what to do after a failure
  [[nodiscard]] static std::string spoilt();   // and after numbers that are not finite
  [[nodiscard]] static std::string where(const Work& work, Interval positions);
  void say_stop(Time now, Outbox& out);

  // owing.cpp: who owes what
  struct Found {
    Work* work = nullptr;
    Piece* piece = nullptr;
  };
  [[nodiscard]] Found find(PieceId id);
  bool hand_out(Time now, Outbox& out);  // of a round that is taken piece by piece; false: nobody took any
  [[nodiscard]] bool is_idle(std::uint32_t slot) const;  // it is there, and owes nothing
  [[nodiscard]] std::optional<std::uint32_t> heir(const Work& work, std::uint64_t positions) const;
  void plan_helpings(Work& work);
  void issue(Time now, Work& work, Interval positions, unsigned refusals, Outbox& out);
  void give(Time now, Work& work, Interval positions, std::uint32_t slot, unsigned refusals, Outbox& out);
  void send_start(const Work& work, PieceId id, Outbox& out);
  void reissue(Time now, Work& work, PieceId id, Outbox& out);
  void issue_again(Time now, Work& work, Interval positions, unsigned refusals, Outbox& out);
  static std::uint64_t capacity(const WorkerMember& worker, const Work& work);
  void adopt_orphans(Time now, Outbox& out);
  void compute_elsewhere(Time now, const Found& found, PieceId id, const std::string& what, Outbox& out);
  PieceId take_back(Time now, const WorkerMember& worker, const Report& report);
  void mend(Time now, Work& work, const Interval& gap, const ShardMember& shard, Outbox& out);
  [[nodiscard]] balancing::Request request(Interval positions, const Work& work) const;
  [[nodiscard]] Duration timeout() const { return from_seconds(2 * job_.heartbeat); }
  // The same for a push that was reported, which on a slow line is on its way for long.
  [[nodiscard]] Duration push_timeout() const {
    const Duration longest = std::max(longest_wait_, longest_push_);
    return std::max(timeout(), std::min<Duration>(2 * longest, std::chrono::minutes(10)));
  }

  void ignore() { ++ignored_; }
  void note(Outbox& out, std::string text) { out.send<ToRecorder>(recorder_node, Note{std::move(text)}); }
  [[nodiscard]] double trained_seconds(Time now) const;

  const Job job_;
  const SyncMode mode_;
  const std::uint64_t fingerprint_;
  const std::uint32_t slice_count_;
  const Term term_;
  const std::unique_ptr<balancing::Policy> policy_;
  Phase phase_ = Phase::gathering;
  Course course_;  // its next round is the first that is not done
  Course ahead_;   // its next round is the first that has not begun
  Members members_;
  StateWatch state_watch_;
  std::list<Work> works_;
  // Workers that may have nothing to do; it is looked at again before it is believed. Only with slack.
  std::set<std::uint32_t> free_;
  bool pause_ = false;   // the newest round is one before a barrier: nothing runs ahead of it
  Version barrier_ = 0;  // what is begun computes from no less
  std::map<std::uint32_t, Staleness> staleness_;  // by shard, as last told
  PieceId next_piece_ = 1;
  Duration longest_push_{};  // of recent pieces, from Report until every shard had it; it fades
  Duration longest_wait_{};  // of recent pieces, from Start to Report but for the computing; it fades
  Time now_;                 // as last told
  Time next_beat_;
  std::uint64_t roster_number_ = 0;  // grows with every server that joins
  Reminder reminder_;                // of what the training waits for before it begins

  Time started_;    // of the first round
  Time last_done_;  // when a round was last done
  const bool resumed_;
  double seconds_before_ = 0;  // of training, before a resume
  bool interrupted_ = false;
  std::optional<Time> alone_since_;  // once interrupted: since when no worker is there
  bool evaluated_last_ = false;      // the present version has been evaluated
  bool evaluation_due_;

  Time save_begun_;  // when a checkpoint was last due
  std::optional<Version> last_saved_;
  std::map<Version, Progress> saves_;  // asked of the checkpointer, not answered
  Version last_answered_ = 0;
  std::string storage_trouble_;  // of the latest checkpoint, if it failed

  Outcome ending_ = Outcome::running;
  Stop stop_;
  Time stop_said_;
  std::set<NodeId> awaited_;  // who has not left yet
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
