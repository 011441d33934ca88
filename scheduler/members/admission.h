// Admission: which nodes may join the job, under which name and in which slot, and the roster that members
// receive.
//
// A name can be reused once the node that had it is lost. The scheduler may not know that yet, because a
// machine that lost power closes no connection. So it lets the newcomer repeat its request, which gives the
// former node time to send a heartbeat.
//
// In a job with replicas, restarted servers become mirrors of shards in other processes.
//
// Changes the members; sends nothing.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "core/time.h"
#include "protocol/messages.h"
#include "scheduler/members/members.h"
#include "scheduler/members/shutdown.h"
#include "scheduler/rounds/order.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

// Refusals: which refusals are logged. A refused process may retry a thousand times a second, so each pair of
// node and reason is logged once, and the number of all other refusals once a minute.
class Refusals {
 public:
  // Maximum number of separate notes per minute, and of remembered pairs of node and reason.
  static constexpr std::size_t most_noted = 32;

  // The note for this refusal, or std::nullopt if it is only counted.
  std::optional<std::string> refused(Time now, NodeId who, const Refuse& refuse);
  // Once a minute: the note with the number of refusals that were only counted.
  std::optional<std::string> due(Time now);

 private:
  std::set<std::pair<NodeId, std::uint8_t>> noted_;  // node and reason
  std::optional<Time> since_;                        // start of the current minute
  std::uint64_t more_ = 0;                           // refusals in it without a note
  std::string last_;                                 // the last of those

 public:
  void serialize(auto& fields) { fields(noted_, since_, more_, last_); }
};

class Admission {
 public:
  // All three belong to the caller and outlive this.
  Admission(const Job& job, Members& members, const std::list<RoundState>& rounds);

  struct Admitted {
    std::uint32_t slot = 0;
    std::string remark{};  // for the log; empty if it was admitted before and repeats its Hello
    bool mirror = false;   // it mirrors the shard in that slot
  };
  struct Refused {
    Refusal reason = Refusal::full;
    std::string text;
  };
  struct AskAgainLater {};  // no answer is sent, so the node repeats its Hello
  using Answer = std::variant<Admitted, Refused, AskAgainLater, EndJob>;
  Answer answer(Time now, NodeId from, const Hello& hello, Phase phase);

  // Whether all shards have joined, loaded or not.
  [[nodiscard]] bool has_all_shards() const { return members_.shards.size() == job_.shards; }
  // The endpoints of all shards; empty while some are missing.
  [[nodiscard]] Roster roster() const;
  [[nodiscard]] std::uint64_t roster_number() const { return roster_number_; }
  void change_roster() { ++roster_number_; }  // call after a shard or mirror was replaced or lost

 private:
  [[nodiscard]] Answer answer_worker(Time now, NodeId from, const Hello& hello);
  [[nodiscard]] Answer answer_shard(Time now, NodeId from, const Hello& hello, Phase phase);
  [[nodiscard]] Answer answer_mirror(Time now, NodeId from, const Hello& hello);
  [[nodiscard]] std::optional<Answer> contest(Time now, const std::string& name);
  void forget_the_long_gone();

  const Job& job_;
  const std::uint64_t fingerprint_;
  const std::vector<std::uint32_t> borders_;  // of shards, in slices
  Members& members_;
  const std::list<RoundState>& rounds_;
  std::uint64_t roster_number_ = 0;  // grows with every change of the roster

 public:
  void serialize(auto& fields) { fields(roster_number_); }
};

}  // namespace steelyard
