// Admission: which nodes may join the job, under which name and in which slot, and the roster that members
// get.
//
// A name comes back when its former bearer is gone. That may not be known yet: a machine that lost its power
// closes no connection. So the newcomer asks again, and the former bearer has the time to say a word.
//
// Of a job with replicas, servers that are started again become mirrors of shards in other processes.
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

// Refusals: which of them are worth a note. Whoever is refused may ask again a thousand times a second, so
// people read of each node and reason once, and of all others how many they were, once a minute.
class Refusals {
 public:
  // Notes of their own in one minute, and nodes with a reason that are remembered.
  static constexpr std::size_t most_noted = 32;

  // The note of this refusal; nothing: it is counted.
  std::optional<std::string> refused(Time now, NodeId who, const Refuse& refuse);
  // The note of those that were counted, when a minute is over.
  std::optional<std::string> due(Time now);

 private:
  std::set<std::pair<NodeId, std::uint8_t>> noted_;  // with the reason
  std::optional<Time> since_;                        // this minute
  std::uint64_t more_ = 0;                           // in it, without a note
  std::string last_;                                 // of them

 public:
  void serialize(auto& fields) { fields(noted_, since_, more_, last_); }
};

class Admission {
 public:
  // All three belong to the caller and outlive this.
  Admission(const Job& job, Members& members, const std::list<RoundState>& rounds);

  struct Admitted {
    std::uint32_t slot = 0;
    std::string remark{};  // empty: it had been admitted before, and asks once more
    bool mirror = false;   // of the shard in that slot
  };
  struct Refused {
    Refusal reason = Refusal::full;
    std::string text;
  };
  struct AskAgainLater {};  // it gets no answer, and so will
  using Answer = std::variant<Admitted, Refused, AskAgainLater, EndJob>;
  Answer answer(Time now, NodeId from, const Hello& hello, Phase phase);

  // All shards are there, loaded or not.
  [[nodiscard]] bool has_all_shards() const { return members_.shards.size() == job_.shards; }
  // Where the shards are; without any while some are missing.
  [[nodiscard]] Roster roster() const;
  [[nodiscard]] std::uint64_t roster_number() const { return roster_number_; }
  void change_roster() { ++roster_number_; }  // another one is in a shard's place

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
  std::uint64_t roster_number_ = 0;  // grows with every server that joins

 public:
  void serialize(auto& fields) { fields(roster_number_); }
};

}  // namespace steelyard
