// Keeper: gives the shards the state to begin with, and gathers a version of it from them for a checkpoint.
//
// Lives beside the scheduler, where the run directory is, and speaks to the shards' bulk ports. What it
// gathers is one cut: the same version of every slice, with optimizer state and step counts. Writing takes
// long and may fail; the host gives the function that does it, and runs the keeper on a thread of its own.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "server/checkpoint.h"
#include "wire/machine.h"

namespace steelyard {

class Keeper {
 public:
  using Store = std::function<std::string(const Snapshot&)>;  // returns the path; throws Failure

  // `initial` has the layout, parameters, optimizer state (empty: zeros), version and term to begin with.
  Keeper(NodeId self, Snapshot initial, std::uint32_t state_slots, Store store);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished_ ? Time::max() : next_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

 private:
  struct Gathering {
    Snapshot snapshot;
    std::vector<bool> arrived;  // slice x slot
    std::size_t missing = 0;
  };

  void handle(const Roster& roster, Outbox& out);
  void handle(const Save& save, Outbox& out);
  void handle(const State& state, Outbox& out);
  void handle(const Gone& gone, Outbox& out);
  void handle(const SchedulerBeat&, Outbox&) {}
  void handle(const Stop&, Outbox&) { finished_ = true; }
  void handle(const Lost&, Outbox&) {}  // whoever is gone comes back or is replaced: the scheduler's affair
  void handle(const Alien&, Outbox&) { ignore(); }

  void load(const ShardPlace& shard, Outbox& out);
  void fetch(Outbox& out);
  void answer(const Saved& saved, Outbox& out);
  void ignore() { ++ignored_; }

  const NodeId self_;
  const Snapshot initial_;
  const std::vector<Slice> slices_;
  const std::uint32_t slots_;  // 1 (parameters) + optimizer state
  const Store store_;
  bool finished_ = false;
  Time now_;                       // as last told
  Time next_;                      // sign of life
  Time heard_;                     // when a shard last sent state
  std::map<NodeId, Time> loaded_;  // when a shard was last given what to begin with
  std::vector<ShardPlace> shards_;
  std::map<Version, Saved> answered_;        // the latest, to be said again if it was lost
  std::map<Version, Gathering> gatherings_;  // oldest first; the oldest is being fetched
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
