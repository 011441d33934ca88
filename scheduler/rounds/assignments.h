// Assignments: which worker owes which piece. Only this class issues, cuts and reissues pieces, with all
// borders between grains (protocol/local_steps.h).
//
// The policy divides a round when it begins; in on-demand modes, idle workers take it piece by piece. The
// pieces of a lost worker are divided among the others. To find lost messages, the class compares the pieces
// and gaps in heartbeats with the pieces owed; then it repeats the assignment, or requests a resend.
//
// Returns orders; sends nothing. Reads the members. Changes the pieces, quotas and samples of rounds.
#pragma once

#include <algorithm>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "scheduler/members/members.h"
#include "scheduler/rounds/order.h"
#include "scheduler/rounds/planner.h"
#include "scheduler/rounds/round_state.h"
#include "scheduler/rounds/work_stealing.h"

namespace steelyard {

class Assignments {
 public:
  // `members` and `rounds` belong to the caller and outlive this.
  Assignments(const Job& job, const Progress& from, std::unique_ptr<balancing::Policy> policy,
              const Members& members, std::list<RoundState>& rounds);

  // As Planner::length().
  [[nodiscard]] std::optional<std::uint64_t> length(Round round, std::uint64_t epoch) {
    return planner_.length(round, epoch);
  }
  // Assigns a round that has just begun.
  [[nodiscard]] Orders begin(Time now, RoundState& round);
  // With backup workers: moves unreported positions to a later round.
  void leave_over(Time now, RoundState& round) { leave_unreported(now, round, planner_, members_); }
  // The oldest round is done: passes its record and its samples to the policy.
  void finish(RoundState& round, const RoundRecord& record);

  // On demand: idle workers take their next quota of the newest round. Empty if none took any.
  [[nodiscard]] Orders hand_out(Time now);
  // Whether some available worker owes no piece. Always false without slack.
  [[nodiscard]] bool anybody_idle();
  // The worker in this slot may have become idle; anybody_idle() and hand_out() check.
  void may_be_idle(std::uint32_t slot) {
    if (mode_.slack > 0) maybe_idle_.insert(slot);
  }

  // Nothing can be assigned until all is reported: requests that workers whose pushes wait for others repeat
  // them, if the others are idle (scheduler/rounds/last_pushes.cpp).
  [[nodiscard]] Orders end_waits();
  // Trials (TryOut) that were reported since the last call.
  [[nodiscard]] std::vector<RoundRecord::Part> take_trials() { return std::exchange(measured_, {}); }

  // A report. Returns std::nullopt if it is late, repeated, or matches no owed piece.
  [[nodiscard]] std::optional<Orders> report(Time now, const WorkerMember& worker, const Report& report);
  // A shard refused a push. Returns std::nullopt if the piece has been reissued already.
  [[nodiscard]] std::optional<Orders> refuse(Time now, const GradientRejected& refused);

  // With hand-over: a worker reports its progress, or the end of a piece that it was asked to cut. False or
  // std::nullopt if the message is late, repeated, or matches no owed piece.
  bool told(Time now, std::uint32_t slot, const PieceProgress& progress);
  [[nodiscard]] std::optional<Orders> answer(Time now, std::uint32_t slot, const CutAnswer& answer);
  // Requests all cuts that are possible now (scheduler/rounds/work_stealing.h).
  [[nodiscard]] Orders steal_work(Time now);

  // Gives the pieces of this worker to other workers, if there are any.
  [[nodiscard]] Orders release(Time now, std::uint32_t slot);
  // As release(), for a lost worker, which cannot resend the pushes of pieces it has reported.
  [[nodiscard]] Orders lose(Time now, std::uint32_t slot);
  // Assigns pieces without an owner, if a worker is available.
  [[nodiscard]] Orders adopt_orphans(Time now);
  // Resends assignments of pieces that the worker owes but that are not in its heartbeat (`held`): either the
  // assignment or the report was lost. If `doubtful`, does not wait for the timeout.
  [[nodiscard]] Orders repeat_lost(Time now, std::uint32_t slot, const std::vector<PieceId>& held,
                                   bool doubtful = false);
  // A shard lacks these positions of a round. Their pushes count as lost if their piece was reported, and
  // neither its report nor another push to this shard is more recent than push_timeout(). If the whole piece
  // is missing and its owner is present, first requests a resend, and reissues it after 4 * push_timeout().
  // Otherwise reissues the missing part.
  [[nodiscard]] Orders repair_gap(Time now, RoundState& round, const Interval& gap, const ShardMember& shard);

  // How long the shards waited for the last push of a round after its report.
  void pushed(Duration after_report) { longest_push_ = std::max(longest_push_ * 3 / 4, after_report); }

  [[nodiscard]] std::string policy_state() const { return planner_.state(); }
  [[nodiscard]] std::string take_doubt() { return planner_.take_doubt(); }

 private:
  struct Found {
    RoundState* round = nullptr;
    OwedPiece* piece = nullptr;
  };
  [[nodiscard]] Found find(PieceId id);
  [[nodiscard]] Found last_pushed(std::uint32_t slot);
  struct ToDo {
    Interval positions;
    unsigned refusals = 0;
    HubNumber hub = whole_model;
  };
  void issue(Time now, RoundState& round, const ToDo& what, Orders& orders);
  void give(Time now, RoundState& round, const ToDo& what, std::uint32_t slot, Orders& orders);
  void measure(const RoundState& round, const Planner::Share& share, Orders& orders);
  bool report_trial(const WorkerMember& worker, const Report& report);
  [[nodiscard]] Assign assign(const RoundState& round, PieceId id) const;
  void reissue(Time now, RoundState& round, PieceId id, Orders& orders);
  void take_over(Time now, RoundState& round, PieceId id, Orders& orders);
  // The parts in which to reissue a piece. If a cut is unanswered, the owner's push may still arrive, whole
  // or up to the cut. So no part may span the cut.
  [[nodiscard]] static std::vector<Interval> parts_of(const OwedPiece& piece) {
    if (!piece.cut) return {piece.positions};
    return {{piece.positions.begin, piece.cut->end}, {piece.cut->end, piece.positions.end}};
  }
  void issue_again(Time now, RoundState& round, const ToDo& what, Orders& orders);
  PieceId accept_late_report(Time now, std::uint32_t slot, const Report& report);
  struct Refused {
    std::uint32_t slot = 0;  // the worker that computed it
    std::string what;        // "the gradient that worker 'bob' computed is not finite"
  };
  [[nodiscard]] Orders compute_elsewhere(Time now, const Found& found, PieceId id, const Refused& refused);
  [[nodiscard]] bool is_idle(std::uint32_t slot) const;
  [[nodiscard]] std::optional<std::uint32_t> least_loaded(const RoundState& round,
                                                          std::uint64_t positions) const;
  // How long a reported push may take to arrive; longer on slow connections.
  [[nodiscard]] Duration push_timeout() const;

  const Term term_;
  const SyncMode mode_;
  const std::uint64_t grain_;
  const BadGradient bad_gradient_;
  const Duration timeout_;
  Planner planner_;
  const Members& members_;
  std::list<RoundState>& rounds_;
  WorkStealing work_stealing_;
  std::set<std::uint32_t> maybe_idle_;  // slots; only with slack
  PieceId next_piece_ = 1;
  // Ids of trials, so that a late report of one is not taken for the report of an owed piece.
  static constexpr PieceId first_trial = PieceId{1} << 63;
  PieceId next_trial_ = first_trial;
  struct Trial {
    PieceId id = 0;
    Interval positions;
    MachineReading planned;
    void serialize(auto& fields) { fields(id, positions, planned); }
  };
  std::map<std::uint32_t, Trial> trials_;    // by slot, the latest of each worker that is not reported
  std::vector<RoundRecord::Part> measured_;  // not serialized: for the record of a round only
  Duration longest_push_{};  // of recent pieces, from Report until every shard had the push; decays
  Duration longest_wait_{};  // of recent pieces, from Start to Report without the compute time; decays

 public:
  void serialize(auto& fields) {
    fields(planner_, work_stealing_, maybe_idle_, next_piece_, next_trial_, trials_, longest_push_,
           longest_wait_);
  }
};

}  // namespace steelyard
