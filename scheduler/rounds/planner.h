// Planner: requests the share of each worker from the policy, and passes the measurements to the policy.
//
// The only class that converts between positions and grains (protocol/local_steps.h): policies divide and
// observe grains, all other classes use positions. Every share is whole grains except the last, which ends
// where the positions end.
//
// If local steps are balanced, shares are rounded to whole batches by the largest-remainder method. If they
// are also paced, the policy decides how many batches a round has; a batch is then the global batch / the
// number of workers. With hubs, the batches are drawn at random in proportion to the policy's shares
// (scheduler/rounds/epoch_cursor.h), hub after hub. Positions that already belong to a hub go only to workers
// of that hub, if it has any.
//
// Under elastic-bsp (SyncMode::lookahead) the policy divides a global batch, and a worker computes its share
// of it once or several times in a round, each time as a piece of its own, in the order in which the pieces
// are predicted to end. The prediction is the compute time of the worker's last sample.
//
// If sums are ordered (SumOrder::positions) and grains are longer than one position, every grain of a
// training round is a separate share. Then neither the pushes nor the order in which they are added depend on
// how a round is split (docs/decisions/40-grain-by-grain.md). The policy still receives a worker's part of a
// round as one sample.
//
// A worker that the policy only wants to measure, and that needs longer than the round
// (Policy::beside_round()), computes its grain beside the round, which does not wait for it; the grain
// belongs to the largest share. Only under bsp, and if servers take the steps: elsewhere such a worker could
// not keep up with the versions, or no round waits for it alone.
//
// A policy may fail: throw an exception, or return shares that do not sum to the round. The planner then uses
// equal shares, and one warning is logged.
//
// Reads the members and the rounds; changes only the policy.
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

  struct Share {  // the policy's number, as an interval; Assignments makes it a piece
    std::uint32_t slot = 0;
    Interval positions;
    HubNumber hub = whole_model;
    bool measures = false;  // the positions belong to another share, too, and this worker is only measured
  };
  // Divides these positions of the round, in order, among the available workers; empty without workers. The
  // positions begin between grains. If the workers' memory cannot hold them at once, a worker gets several
  // shares. `hub`: the hub that the positions already belong to; its workers come first.
  [[nodiscard]] std::vector<Share> divide(const RoundState& round, Interval positions,
                                          HubNumber hub = whole_model);
  // Length in positions of the next round, which is in this epoch; std::nullopt if neither the policy nor the
  // lookahead decides it, or no worker works. Call once for each round, before it is divided.
  [[nodiscard]] std::optional<std::uint64_t> length(Round round, std::uint64_t epoch);
  // RoundState::batch for the available workers, each of which can hold it; 0 without workers.
  [[nodiscard]] std::uint64_t batch_for(const RoundState& round) const;
  // By slot, how many positions a worker takes from a round at a time: its share in whole grains.
  [[nodiscard]] std::map<std::uint32_t, std::uint64_t> quotas(const RoundState& round);
  // The most positions of the round that this worker can take in one piece.
  [[nodiscard]] std::uint64_t most(const WorkerMember& worker, const RoundState& round) const;

  // Whether the policy receives a sample after this report. If shares are single grains: only after the last
  // piece that the worker owes.
  [[nodiscard]] bool tells(const RoundState& round, std::uint32_t slot) const {
    return !grain_by_grain_ || !round.owes(slot);
  }
  // The sample for the policy, made from a report. If shares are single grains, it includes the worker's
  // earlier reports of the round. std::nullopt if the share ends inside a grain, so that its time does not
  // represent whole grains. `planned`: OwedPiece::planned. `waited`: for the parameters, in seconds; -1:
  // unknown.
  [[nodiscard]] std::optional<balancing::Sample> sample(const WorkerMember& worker, const Report& report,
                                                        const MachineReading& planned, double waited,
                                                        const RoundState* round = nullptr) const;
  void observe(const balancing::Sample& sample);
  // A training round is done. `accuracy`: share of its labels predicted correctly, 0 to 1.
  void ended(const RoundState& round, double seconds, double accuracy);

  [[nodiscard]] std::string state() const { return policy_->save(); }
  // The warning after the first unusable answer of the policy, once. Empty otherwise.
  [[nodiscard]] std::string take_doubt() { return std::exchange(doubt_, {}); }

 private:
  [[nodiscard]] std::uint64_t elastic_length(Round round, std::uint64_t epoch);
  [[nodiscard]] std::vector<Share> elastic_shares(Interval positions);
  [[nodiscard]] std::vector<std::uint32_t> beside(const RoundState& round);
  [[nodiscard]] std::vector<Share> by_grain(const RoundState& round, std::vector<Share> shares) const;
  // In grains, like all input of the policy.
  [[nodiscard]] std::uint64_t most_grains(const WorkerMember& worker, const RoundState& round) const;
  void bound_by_room(balancing::Request& request) const;
  [[nodiscard]] balancing::Request request(const RoundState& round, Interval positions) const;
  [[nodiscard]] std::uint64_t batch_of(std::uint64_t positions, std::uint64_t steps) const;
  [[nodiscard]] std::vector<balancing::WorkerView> workers(const RoundState* round) const;
  [[nodiscard]] std::vector<std::uint64_t> plan(const balancing::Request& request);
  // Calls `ask`; returns std::nullopt if the policy throws.
  template <class Ask>
  auto asked(Ask ask) -> std::optional<decltype(ask())>;
  void doubt(const std::string& why);
  [[nodiscard]] std::vector<Share> divide_in_batches(const RoundState& round, Interval positions,
                                                     const balancing::Request& request, HubNumber hub);
  // Divides `count` batches among the workers of the request.
  [[nodiscard]] std::vector<std::uint64_t> batches(std::uint64_t count, const balancing::Request& request,
                                                   HubNumber hub);

  const std::string name_;  // of the policy
  const std::uint64_t grain_, seed_, global_batch_;
  const Hubs hubs_;
  const bool paced_, grain_by_grain_, measures_beside_;
  const std::unique_ptr<balancing::Policy> policy_;
  const Members& members_;
  bool doubted_ = false;
  std::string doubt_;

  // Under elastic-bsp.
  const std::uint64_t lookahead_;
  std::map<std::uint32_t, double> grain_seconds_;                // of each slot's last sample
  std::vector<std::pair<std::uint32_t, std::uint64_t>> pieces_;  // of the next round: slots and positions

 public:
  void serialize(auto& fields) {
    const bool loads = std::remove_cvref_t<decltype(fields)>::is_loading::value;
    std::string state = loads ? std::string() : policy_->save();
    fields(state, doubted_, grain_seconds_);
    if (loads && !state.empty()) policy_->restore(state);
  }
};

// Workers that are measured beside the round (Policy::beside_round()): moves the grain of each worker in
// these slots to the largest share with room. Returns their indices in the request.
std::vector<std::size_t> moved_trials(const balancing::Request& request,
                                      const std::vector<std::uint32_t>& slots,
                                      std::vector<std::uint64_t>& grains);

// Backup workers (SyncMode::backup): positions that a round leaves over become positions of the next round.

// A round's positions without BeginRound::skipped, in order.
std::vector<Interval> between_holes(const BeginRound& open);

// The policy's shares, laid one after the other over the positions between the skipped parts; a share that
// spans a skipped part is split. Leftover positions come first, and a different worker starts in each round,
// so that no worker gets its own leftover again and again. Empty if no worker works.
std::vector<Planner::Share> shares_between_holes(Planner& planner, const RoundState& round,
                                                 std::uint64_t grain);

// Moves the unreported positions of the round to the next one. The policy receives the elapsed time as a
// lower bound of their compute time.
void leave_unreported(Time now, RoundState& round, Planner& planner, const Members& members);

}  // namespace steelyard
