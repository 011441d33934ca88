// Shard: a range of slices on one server thread. Sums pushes, takes a step when a slice is covered, and
// answers pulls.
//
// A shard knows rounds only from BeginRound. It holds a push that arrives before its BeginRound, within
// limits. It drops and counts invalid and repeated messages. docs/protocol.md explains the rules.
//
// The sync mode's CloseRule defines how pushes become the next version (server/shard/close_rule.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "core/interval.h"
#include "protocol/machine.h"
#include "protocol/session.h"
#include "protocol/terms.h"
#include "protocol/transfer.h"
#include "server/shard/close_rule.h"
#include "server/shard/coded_slices.h"
#include "server/shard/held_pushes.h"
#include "server/shard/saved_versions.h"
#include "server/shard/slice_memory.h"
#include "server/shard/worker_states.h"

namespace steelyard {

class Shard {
 public:
  struct Options {
    NodeId self;
    Hello hello;
    Session::Timeouts timeout;
    // Memory for versions, which other processes can read; shared by the shards of a process. Null: private
    // memory.
    std::shared_ptr<FlatPool> versions{};
    // Makes the arithmetic of a slice of a shard with floats `own` of the model, on the shard's thread.
    // Empty: the processor computes, with `versions`.
    using MakeArithmetic =
        std::function<std::shared_ptr<nn::SliceArithmetic>(const Slice& place, Interval own)>;
    MakeArithmetic arithmetic{};
    WorkerStates::MakeFile state_file{};  // for the state of workers; empty: it is kept in memory
  };
  // Counts of pushes since the start, and of other messages that were late, repeated or unknown.
  struct Counts {
    std::uint64_t added = 0;
    std::uint64_t repeated = 0;       // covered already, or for a superseded version
    std::uint64_t held = 0;           // arrived before their BeginRound
    std::uint64_t malformed = 0;      // wrong slice, round, size or weight
    std::uint64_t refused = 0;        // not finite, or far too long
    std::uint64_t uncompensated = 0;  // added without the sync mode's compensation
    std::uint64_t ignored = 0;        // messages other than pushes
  };

  explicit Shard(Options options)
      : options_(std::move(options)), session_(options_.timeout), worker_states_(options_.state_file) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished() ? Time::max() : session_.deadline(); }
  [[nodiscard]] bool finished() const { return exit_reason_.reached(); }
  [[nodiscard]] bool joined() const { return session_.joined(); }

  [[nodiscard]] const ExitReason& exit_reason() const { return exit_reason_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const std::vector<SliceMemory>& slices() const { return slices_; }
  [[nodiscard]] Term term() const { return term_; }
  [[nodiscard]] Version version() const;  // the lowest of its slices
  [[nodiscard]] bool loaded() const;

  // For Replica: returns the messages, in order, that turn a newly welcomed shard into a copy of this one, or
  // std::nullopt while a slice has a part of an open round or this shard has state that no message contains.
  [[nodiscard]] std::optional<std::vector<Envelope>> snapshot() const;
  // Nodes that have sent a pull, answered or not.
  [[nodiscard]] std::set<NodeId> pulling() const {
    const auto nodes = std::views::keys(pulls_);
    return {nodes.begin(), nodes.end()};
  }
  // If pushes are gathered and a heartbeat is due: the message that this shard must handle before the
  // heartbeat.
  [[nodiscard]] std::optional<IdleTick> due_quiet(Time now) const;
  // Sets ShardBeat::mirror.
  void set_mirror(const MirrorState& mirror) { mirror_ = mirror; }
  // Sends ShardBeat, with first_gaps() of the oldest open round. Only once joined.
  void beat(Outbox& out);

 private:
  struct WaitingPull {
    Pull pull;
    std::vector<std::uint32_t> slices;    // not answered yet
    std::uint32_t sent = 0, arrived = 0;  // slices, since the pull
  };

  void handle(Time now, NodeId from, const Welcome& welcome, Outbox& out);
  void handle(Time now, NodeId from, const Refuse& refuse, Outbox& out);
  void handle(Time now, NodeId from, const StateOffer& offer, Outbox& out);
  void handle(Time now, NodeId from, const StateChunk& load, Outbox& out);
  void handle(Time now, NodeId from, const Ping& ping, Outbox& out);
  void handle(Time now, NodeId from, const BeginRound& open, Outbox& out);
  void handle(Time now, NodeId from, const Pull& pull, Outbox& out);
  void handle(Time now, NodeId from, const PullAck& ack, Outbox& out);
  void handle(Time now, NodeId from, const Push& push, Outbox& out);
  void handle(Time now, NodeId from, const Commit& commit, Outbox& out);
  void handle(Time now, NodeId from, const Fetch& fetch, Outbox& out);
  void handle(Time now, NodeId from, const Saved& saved, Outbox& out);
  void handle(Time now, NodeId from, const PutState& put, Outbox& out);
  void handle(Time now, NodeId from, const GetState& get, Outbox& out);
  void handle(Time now, NodeId from, const IdleTick& quiet, Outbox& out);
  void handle(Time now, NodeId from, const SchedulerBeat& beat, Outbox& out);
  void handle(Time now, NodeId from, const Stop& stop, Outbox& out);
  void handle(Time now, NodeId from, const Disconnected& lost, Outbox& out);
  void handle(Time now, NodeId from, const VersionMismatch& version_mismatch, Outbox& out);
  void handle(Time now, NodeId from, const Interrupt& interrupt, Outbox& out);

  SliceMemory* find(std::uint32_t slice);
  void ignore() { ++counts_.ignored; }
  void malformed() { ++counts_.malformed; }
  void repeated() { ++counts_.repeated; }
  void hold(NodeId from, const Push& push);
  void close_empty(const BeginRound& open, Outbox& out);
  void covered(const BeginRound& open, Outbox& out);
  void report_covered(const BeginRound& open, Outbox& out);
  // Closes the slice's covered rounds (BeginRound::quorum), the oldest first; with a clip barrier, reports
  // them to the scheduler instead. `quiet`: no push was added since the last heartbeat. Gathered pushes are
  // then applied as soon as the oldest open round is covered, so that it closes and the gaps of later rounds
  // can be reported.
  void close_covered(SliceMemory& slice, Outbox& out, bool quiet = false);
  void close(std::span<SliceMemory> slices, const BeginRound& open, double scale, Outbox& out);
  void closed(SliceMemory& slice, const BeginRound& open, Outbox& out);
  void answer_waiting(const SliceMemory& slice, Outbox& out);
  void end_waits(Outbox& out);
  void answer(NodeId worker, WaitingPull& waiting, Outbox& out);
  bool answer(NodeId worker, WaitingPull& waiting, const SliceMemory& slice, Outbox& out) const;
  [[nodiscard]] bool sound(const Push& push);
  [[nodiscard]] std::shared_ptr<nn::SliceArithmetic> arithmetic_of(const Slice& place, Interval own) const;
  [[nodiscard]] std::uint32_t number(const SliceMemory& slice) const;

  bool send_part(StatePart part, Outbox& out);
  // Slots of state of a slice, parameters included.
  [[nodiscard]] std::uint32_t slots() const { return 1 + state_slots(job_); }
  void want(Time now, bool answer, Outbox& out);
  [[nodiscard]] bool at_rest() const;

  const Options options_;
  Session session_;
  ExitReason exit_reason_;
  Counts counts_;
  std::uint64_t told_added_ = 0;  // in the last heartbeat

  Job job_;
  std::unique_ptr<CloseRule> rule_;
  Term term_ = 0;
  std::uint32_t first_ = 0;  // number of slices_[0] in the whole model
  std::vector<SliceMemory> slices_;
  CodedSlices coded_;
  NormLimit norms_{0, 0};  // set on joining

  std::map<Round, BeginRound> open_;     // rounds that not every slice here has closed
  std::set<Round> reported_covered_;     // with a clip barrier
  Round opened_ = 0;                     // rounds below are known
  HeldPushes held_{0};                   // set on joining
  std::map<NodeId, WaitingPull> pulls_;  // the latest of each worker

  std::optional<SavedVersions> saved_;  // set on joining
  std::optional<NodeId> checkpointer_;
  std::optional<Transfer> loading_;  // until the initial state is complete
  WorkerStates worker_states_;
  MirrorState mirror_;
};

}  // namespace steelyard
