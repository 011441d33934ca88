// Planner: asks the policy who computes how much, and shows it what was measured.
//
// The one place that knows both positions and grains (protocol/local_steps.h): a policy divides grains and is
// shown grains; all others speak of positions. Whatever a policy says, every share is whole grains, but for
// the last, which ends where the positions do.
//
// Where local steps are balanced, a share is as many whole batches as the policy's share comes nearest to: by
// the largest remainder. Where they are paced too, the policy also says how many batches a round has; a batch
// is then the workers' part of a global one. With hubs they are drawn instead
// (scheduler/rounds/epoch_cursor.h), hub after hub, in proportion to the policy's shares; of what is a hub's
// already, only its workers take some, if it has any.
//
// Where sums are ordered and grains are longer than a position, every grain of a training round is a share
// of its own. So neither what is pushed nor the order in which it is added depends on how a round is split
// (docs/decisions/40-grain-by-grain.md). The policy is shown what a worker did of a round as one sample.
//
// What a policy is shown was measured on other machines, and its answer may make no sense: shares that do not
// sum to the round, an exception. Equal shares take its place then, and people are told so once.
//
// Reads the members and the rounds; changes nothing but the policy.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "scheduler/members/members.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

class Planner {
 public:
  // `members` belongs to the caller and outlives this.
  Planner(const Job& job, const Progress& from, std::unique_ptr<balancing::Policy> policy,
          const Members& members);

  struct Share {
    std::uint32_t slot = 0;
    Interval positions;
    HubNumber hub = whole_model;
  };
  // These positions of the round, in their order, among the workers that are there; nothing if there is none.
  // They begin between grains. What memory does not hold at once takes several turns. `hub`: it is a hub's
  // already, and its workers come first.
  [[nodiscard]] std::vector<Share> divide(const RoundState& round, Interval positions,
                                          HubNumber hub = whole_model);
  // Positions of the next round, which is of this epoch, where the policy says how many; nothing where it
  // does not, or no worker is there. Asked once for each round.
  [[nodiscard]] std::optional<std::uint64_t> length(Round round, std::uint64_t epoch);
  // RoundState::batch for the workers that are there; 0 if there is none. Each of them can hold it.
  [[nodiscard]] std::uint64_t batch_for(const RoundState& round) const;
  // By slot, how many positions a worker takes of a round at a time: its share of it, in whole grains.
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> quotas(const RoundState& round);
  // Positions that this worker can take of the round in one piece.
  [[nodiscard]] std::uint64_t most(const WorkerMember& worker, const RoundState& round) const;

  // Whether this report is to be shown to the policy now: grain by grain, the last one that its worker owes.
  [[nodiscard]] bool tells(const RoundState& round, std::uint32_t slot) const {
    return !grain_by_grain_ || !round.owes(slot);
  }
  // What a report tells the policy, with all that its worker reported of the round before it where shares are
  // grains; nothing if it ends in a part of a grain and so says little of whole ones.
  // `waited` for the parameters, in seconds; -1: unknown.
  [[nodiscard]] std::optional<balancing::Sample> sample(const WorkerMember& worker, const Report& report,
                                                        double waited,
                                                        const RoundState* round = nullptr) const;
  void observe(const balancing::Sample& sample);
  // A training round is done, after so many seconds, and so many of its labels were right, relative.
  void ended(const RoundState& round, double seconds, double accuracy);

  [[nodiscard]] std::string state() const { return policy_->save(); }
  // The first time that an answer of the policy made no sense: what people should know. Empty otherwise.
  [[nodiscard]] std::string take_doubt() { return std::exchange(doubt_, {}); }

 private:
  [[nodiscard]] std::vector<Share> by_grain(const RoundState& round, std::vector<Share> shares) const;
  // In grains, as is all that is said to the policy.
  [[nodiscard]] std::uint64_t most_grains(const WorkerMember& worker, const RoundState& round) const;
  void bound_by_room(balancing::Request& request) const;
  [[nodiscard]] balancing::Request request(const RoundState& round, Interval positions) const;
  [[nodiscard]] std::uint64_t batch_of(std::uint64_t positions, std::uint64_t steps) const;
  [[nodiscard]] std::vector<balancing::WorkerView> workers(const RoundState* round) const;
  [[nodiscard]] std::vector<std::uint64_t> plan(const balancing::Request& request);
  // Calls `ask`, and returns nothing where the policy throws.
  template <class Ask>
  auto asked(Ask ask) -> std::optional<decltype(ask())>;
  void doubt(const std::string& why);
  [[nodiscard]] std::vector<Share> divide_in_batches(const RoundState& round, Interval positions,
                                                     const balancing::Request& request, HubNumber hub);
  // By worker of the request, how many of so many batches it takes.
  [[nodiscard]] std::vector<std::uint64_t> batches(std::uint64_t count, const balancing::Request& request,
                                                   HubNumber hub);

  const std::string name_;  // of the policy
  const std::uint64_t grain_, seed_, global_batch_;
  const Hubs hubs_;
  const bool paced_, grain_by_grain_;
  const std::unique_ptr<balancing::Policy> policy_;
  const Members& members_;
  bool doubted_ = false;
  std::string doubt_;

 public:
  void serialize(auto& fields) {
    const bool loads = std::remove_cvref_t<decltype(fields)>::is_loading::value;
    std::string state = loads ? std::string() : policy_->save();
    fields(state, doubted_);
    if (loads && !state.empty()) policy_->restore(state);
  }
};

// Backup workers (SyncMode::backup): what a round leaves over, and how the next one has it among its
// positions.

// The parts of a round's positions that are of it, in their order.
std::vector<Interval> between_holes(const BeginRound& open);

// The policy's shares, laid one after the other over what is between the skipped parts; a share that goes
// across a skipped part is in several parts. What was left over comes first, and each round it is the next
// worker that has it: nobody gets his own back for ever. Nothing if no worker is there.
std::vector<Planner::Share> shares_between_holes(Planner& planner, const RoundState& round,
                                                 std::uint64_t grain);

// What nobody has reported of the round is left over. The policy is shown that it took so long at least.
void leave_unreported(Time now, RoundState& round, Planner& planner, const Members& members);

}  // namespace steelyard
