// Checkpointer: sends the initial state to the shards, and gathers versions from them for checkpoints.
//
// It runs in the scheduler's process, because the run directory is on that machine, and connects to the
// shards' bulk ports. In both directions the receiver requests a few parts at a time
// (protocol/transfer.h), so only a window of the model is in flight.
//
// A gathered version is consistent: the same version of every slice, with optimizer state and step counts.
// Parts are written to the checkpoint as they arrive. Writing is slow and may fail, so the host provides the
// sink and runs the checkpointer on a separate thread.
//
// In jobs whose workers take the optimizer steps (Snapshot::on_workers), a version is the state that a worker
// has uploaded to the shards; in a resumed job, this class uploads the one from the checkpoint.
//
// Each heartbeat names the shards that do not answer. A checkpoint fails if a shard does not answer for a
// minute.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/machine.h"
#include "protocol/state_transfer.h"
#include "protocol/transfer.h"
#include "server/checkpoint/checkpoint.h"

namespace steelyard {

class Checkpointer {
 public:
  // `initial` has the initial layout, parameters, optimizer state (empty: zeros), version and term. When the
  // first checkpoint is requested, training has begun, and these values are released.
  Checkpointer(NodeId self, Snapshot initial, std::uint32_t state_slots, OpenCheckpoint open);

  // A former process of this run has written this checkpoint but may not have reported it.
  void remember(const Saved& saved) { answered_[saved.version] = saved; }

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished_ ? Time::max() : next_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

 private:
  // State of the exchange with a shard.
  struct Contact {
    std::optional<Time> asked;  // time of the oldest unanswered request
    Time offered;               // time of the last StateOffer
    bool loaded = false;        // it has the whole initial state
    std::string trouble;        // why the connection fails
  };
  struct Gathering {
    Version version = 0;
    std::unique_ptr<CheckpointSink> sink;
    std::map<std::size_t, Transfer> transfers;  // by the shard's place in the roster
    std::size_t missing = 0;                    // parts
    std::uint64_t steps = 0;
    std::optional<StateDownload> worker_state{};  // instead of parts
    Time progress;                                // arrival of the last part
  };

  void handle(NodeId from, const Roster& roster, Outbox& out);
  void handle(NodeId from, const StateRequest& want, Outbox& out);
  void handle(NodeId from, const Save& save, Outbox& out);
  void handle(NodeId from, const State& state, Outbox& out);
  void handle(NodeId, const NotYet&, Outbox&) {}  // the shard answers; nothing else to do
  void handle(NodeId from, const VersionExpired& gone, Outbox& out);
  void handle(NodeId from, const StateStored& stored, Outbox& out);
  void handle(NodeId from, const WorkerState& part, Outbox& out);
  void handle(NodeId, const SchedulerBeat&, Outbox&) {}
  void handle(NodeId, const Stop&, Outbox&) { finished_ = true; }
  void handle(NodeId from, const Disconnected& lost, Outbox& out);
  void handle(NodeId, const VersionMismatch&, Outbox&) { ignore(); }
  void handle(NodeId from, const Unreachable& it, Outbox& out);

  [[nodiscard]] StateChunk load(StatePart part) const;
  void begin(Outbox& out);  // the next gathering
  void ask(Outbox& out);
  void put(const State& state, Outbox& out);
  void gather_worker_state();
  // Calls `write`, which returns whether the checkpoint is complete; then finishes it. Answers errors.
  void write(const std::function<bool()>& write, Outbox& out);
  void give_up_waiting(Outbox& out);
  void answer(const Saved& saved, Outbox& out);
  [[nodiscard]] const ShardPlace* place(NodeId shard) const;
  [[nodiscard]] std::size_t index_of(const ShardPlace& shard) const;  // of one in the roster
  void restart(const ShardPlace& shard);  // requests its parts of the gathered version again
  // The version being gathered, or else the oldest one requested.
  [[nodiscard]] Version version() const { return gathering_ ? gathering_->version : asked_.begin()->first; }
  // Whether an answer of the shard is awaited.
  [[nodiscard]] bool awaited(const ShardPlace& shard) const;
  void ignore() { ++ignored_; }

  const NodeId self_;
  std::shared_ptr<const Snapshot> initial_;  // null: values released
  const Snapshot about_;                     // `initial` without values
  const std::vector<Slice> slices_;
  const std::uint32_t slots_;  // 1 (parameters) + optimizer state
  const OpenCheckpoint open_;
  bool finished_ = false;
  Time now_;   // of the last call
  Time next_;  // next heartbeat
  std::vector<ShardPlace> shards_;
  std::uint64_t roster_ = 0;  // Roster::number
  std::map<NodeId, Contact> contacts_;
  std::map<Version, Saved> answered_;   // the latest, resent if lost
  std::map<Version, Progress> asked_;   // oldest first
  std::optional<StateUpload> upload_;   // until the shards have it
  std::optional<Gathering> gathering_;  // of the oldest in asked_ when it began
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
