// Checkpointer: gives the shards the state to begin with, and gathers a version of it from them for a
// checkpoint.
//
// Lives beside the scheduler, where the run directory is, and speaks to the shards' bulk ports. Both ways
// the state travels a few parts at a time, each requested by the receiver (server/shard/transfer.h): what is
// under way at any moment is a window, and not the model.
//
// What it gathers is one cut: the same version of every slice, with optimizer state and step counts. It goes
// to the checkpoint as it comes. Writing takes long and may fail; the host gives what does it, and runs the
// checkpointer on a thread of its own.
//
// A shard that does not answer is named in every heartbeat; a checkpoint that it holds up for a minute is
// answered as failed.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocol/machine.h"
#include "server/checkpoint/checkpoint.h"
#include "server/shard/transfer.h"

namespace steelyard {

class Checkpointer {
 public:
  // `initial` has the layout, parameters, optimizer state (empty: zeros), version and term to begin with. Its
  // values are let go of when the first checkpoint is asked for, for then the training is under way.
  Checkpointer(NodeId self, Snapshot initial, std::uint32_t state_slots, OpenCheckpoint open);

  // An earlier process of this run has written these, and may have told nobody.
  void remember(const Saved& saved) { answered_[saved.version] = saved; }

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished_ ? Time::max() : next_; }
  [[nodiscard]] bool finished() const { return finished_; }
  [[nodiscard]] std::uint64_t ignored() const { return ignored_; }  // late, repeated or unknown messages

 private:
  // What is known of a shard.
  struct Contact {
    std::optional<Time> asked;  // when it was first asked what it has not answered
    Time offered;               // when it was last offered the state to begin with
    bool loaded = false;        // it has all of that
    std::string trouble;        // why it cannot be connected to
  };
  struct Gathering {
    Version version = 0;
    std::unique_ptr<CheckpointSink> sink;
    std::map<std::size_t, Transfer> transfers;  // by the shard's place in the roster
    std::size_t missing = 0;                    // parts
    std::uint64_t steps = 0;
    Time progress;  // when a part last came
  };

  void handle(NodeId from, const Roster& roster, Outbox& out);
  void handle(NodeId from, const StateRequest& want, Outbox& out);
  void handle(NodeId from, const Save& save, Outbox& out);
  void handle(NodeId from, const State& state, Outbox& out);
  void handle(NodeId, const NotYet&, Outbox&) {}  // it is there, and that is all it says
  void handle(NodeId from, const VersionExpired& gone, Outbox& out);
  void handle(NodeId, const SchedulerBeat&, Outbox&) {}
  void handle(NodeId, const Stop&, Outbox&) { finished_ = true; }
  void handle(NodeId from, const Disconnected& lost, Outbox& out);
  void handle(NodeId, const VersionMismatch&, Outbox&) { ignore(); }
  void handle(NodeId from, const Unreachable& it, Outbox& out);

  [[nodiscard]] StateChunk load(StatePart part) const;
  void begin(Outbox& out);  // the next gathering
  void ask(Outbox& out);
  void put(const State& state, Outbox& out);
  void give_up_waiting(Outbox& out);
  void answer(const Saved& saved, Outbox& out);
  [[nodiscard]] const ShardPlace* place(NodeId shard) const;
  [[nodiscard]] std::size_t index_of(const ShardPlace& shard) const;  // of one in the roster
  void restart(const ShardPlace& shard);                              // its part of what is gathered
  // That is gathered, or would be next: an older one may be asked for meanwhile.
  [[nodiscard]] Version version() const { return gathering_ ? gathering_->version : asked_.begin()->first; }
  // Whether something of it is waited for.
  [[nodiscard]] bool awaited(const ShardPlace& shard) const;
  void ignore() { ++ignored_; }

  const NodeId self_;
  std::shared_ptr<const Snapshot> initial_;  // null: let go of
  const Snapshot about_;                     // the same without values
  const std::vector<Slice> slices_;
  const std::uint32_t slots_;  // 1 (parameters) + optimizer state
  const OpenCheckpoint open_;
  bool finished_ = false;
  Time now_;   // as last told
  Time next_;  // sign of life
  std::vector<ShardPlace> shards_;
  std::uint64_t roster_ = 0;  // its number
  std::map<NodeId, Contact> contacts_;
  std::map<Version, Saved> answered_;   // the latest, to be said again if it was lost
  std::map<Version, Progress> asked_;   // oldest first
  std::optional<Gathering> gathering_;  // of the oldest when it began
  std::uint64_t ignored_ = 0;
};

}  // namespace steelyard
