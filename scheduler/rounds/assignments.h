// Assignments: which worker owes which piece. Pieces are issued, cut and issued again here, and nowhere else,
// with all borders between grains (protocol/local_steps.h).
//
// The policy divides a round when it begins; on demand, idle workers take it piece by piece. What a lost
// worker owes is divided among the others. What was lost on the way is found by comparing what workers and
// shards say they hold with what is owed, and is asked for again.
//
// Returns orders; sends nothing. Reads the members. Of the rounds it changes pieces, quotas and samples.
#pragma once

#include <algorithm>
#include <list>
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
  // With backup workers: what nobody has reported is of a later round.
  void leave_over(Time now, RoundState& round) { leave_unreported(now, round, planner_, members_); }
  // The oldest round is done, as the record says: that and its samples are the policy's to see.
  void finish(RoundState& round, const RoundRecord& record);

  // On demand: idle workers take their next quota of the newest round. No orders: none of them took any.
  [[nodiscard]] Orders hand_out(Time now);
  // Whether some worker that is there owes nothing. Always false without slack.
  [[nodiscard]] bool anybody_idle();
  // The worker in this slot may have become idle. That is looked at again before it is believed.
  void may_be_idle(std::uint32_t slot) {
    if (mode_.slack > 0) maybe_idle_.insert(slot);
  }

  // A report. Nothing: it is late, repeated or of nothing that is owed.
  [[nodiscard]] std::optional<Orders> report(Time now, const WorkerMember& worker, const Report& report);
  // A shard refused a push: its numbers are not finite. Nothing: the piece has been issued again already.
  [[nodiscard]] std::optional<Orders> refuse(Time now, const GradientRejected& refused);

  // With hand-over: a worker tells how far it is, or where a piece ends that it was to cut. False: late,
  // repeated or of nothing that is owed.
  bool told(Time now, std::uint32_t slot, const PieceProgress& progress);
  [[nodiscard]] std::optional<Orders> answer(Time now, std::uint32_t slot, const CutAnswer& answer);
  // Asks for what can be handed over now.
  [[nodiscard]] Orders steal_work(Time now);

  // Gives the pieces of this worker to others, as far as there are any.
  [[nodiscard]] Orders release(Time now, std::uint32_t slot);
  // The same of a worker that is lost: nobody pushes again what it has reported.
  [[nodiscard]] Orders lose(Time now, std::uint32_t slot);
  // Pieces without an owner are assigned, if a worker is there now.
  [[nodiscard]] Orders adopt_orphans(Time now);
  // What the worker owes but does not hold was lost on the way to it, or its report on the way here. In
  // doubt, no timeout is waited for.
  [[nodiscard]] Orders repeat_lost(Time now, std::uint32_t slot, const std::vector<PieceId>& held,
                                   bool doubtful = false);
  // A shard misses these positions of a round although every piece there was reported.
  [[nodiscard]] Orders repair_gap(Time now, RoundState& round, const Interval& gap, const ShardMember& shard);

  // So long the shards waited for the last push of a round, after its report.
  void pushed(Duration after_report) { longest_push_ = std::max(longest_push_ * 3 / 4, after_report); }

  [[nodiscard]] std::string policy_state() const { return planner_.state(); }
  [[nodiscard]] std::string take_doubt() { return planner_.take_doubt(); }

 private:
  struct Found {
    RoundState* round = nullptr;
    OwedPiece* piece = nullptr;
  };
  [[nodiscard]] Found find(PieceId id);
  struct ToDo {
    Interval positions;
    unsigned refusals = 0;
    HubNumber hub = whole_model;
  };
  void issue(Time now, RoundState& round, const ToDo& what, Orders& orders);
  void give(Time now, RoundState& round, const ToDo& what, std::uint32_t slot, Orders& orders);
  [[nodiscard]] Assign assign(const RoundState& round, PieceId id) const;
  void reissue(Time now, RoundState& round, PieceId id, Orders& orders);
  void take_over(Time now, RoundState& round, PieceId id, Orders& orders);
  // Of a cut that is not answered nobody knows whether it came in time, and what its owner has pushed may
  // still arrive, as a whole or up to the cut: no part may lie across it.
  [[nodiscard]] static std::vector<Interval> parts_of(const OwedPiece& piece) {
    if (!piece.cut) return {piece.positions};
    return {{piece.positions.begin, piece.cut->end}, {piece.cut->end, piece.positions.end}};
  }
  void issue_again(Time now, RoundState& round, const ToDo& what, Orders& orders);
  PieceId accept_late_report(Time now, std::uint32_t slot, const Report& report);
  struct Refused {
    std::uint32_t slot = 0;  // who computed it
    std::string what;        // "the gradient that worker 'bob' computed is not finite"
  };
  [[nodiscard]] Orders compute_elsewhere(Time now, const Found& found, PieceId id, const Refused& refused);
  [[nodiscard]] bool is_idle(std::uint32_t slot) const;
  [[nodiscard]] std::optional<std::uint32_t> least_loaded(const RoundState& round,
                                                          std::uint64_t positions) const;
  // Timeout of a push that was reported: on a slow line it is on its way for long.
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
  Duration longest_push_{};  // of recent pieces, from Report until every shard had it; it fades
  Duration longest_wait_{};  // of recent pieces, from Start to Report but for the computing; it fades

 public:
  void serialize(auto& fields) {
    fields(planner_, work_stealing_, maybe_idle_, next_piece_, longest_push_, longest_wait_);
  }
};

}  // namespace steelyard
