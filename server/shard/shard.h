// Shard: a run of slices on one server thread. Sums what is pushed, steps when a slice is
// covered, answers pulls.
//
// A shard does not decide which rounds there are: it learns that from BeginRound alone; a push that comes
// before its BeginRound is held, within limits. Unusable and repeated input is dropped and counted. See
// docs/protocol.md for the rules in context.
//
// How pushes become the next version is the sync mode's rule (server/shard/close_rule.h).
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <ranges>
#include <set>
#include <string>
#include <vector>

#include "protocol/machine.h"
#include "protocol/session.h"
#include "protocol/terms.h"
#include "server/shard/close_rule.h"
#include "server/shard/coded_slices.h"
#include "server/shard/held_pushes.h"
#include "server/shard/saved_versions.h"
#include "server/shard/slice_memory.h"
#include "server/shard/transfer.h"

namespace steelyard {

class Shard {
 public:
  struct Options {
    NodeId self;
    Hello hello;
    Session::Timeouts timeout;
    // Where versions are made, so that other processes can read them; the shards of a process have one. Null:
    // in memory of its own.
    std::shared_ptr<FlatPool> versions{};
  };
  // What was done with the pushes, since the start; and what else came late, repeated or unknown.
  struct Counts {
    std::uint64_t added = 0;
    std::uint64_t repeated = 0;       // covered already, or for a version that is past
    std::uint64_t held = 0;           // came before their BeginRound
    std::uint64_t malformed = 0;      // fits no slice, no round or no rule
    std::uint64_t refused = 0;        // not finite, or wildly long
    std::uint64_t uncompensated = 0;  // added, but not as the sync mode would have it
    std::uint64_t ignored = 0;        // other than pushes
  };

  explicit Shard(Options options) : options_(std::move(options)), session_(options_.timeout) {}

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return finished() ? Time::max() : session_.deadline(); }
  [[nodiscard]] bool finished() const { return exit_reason_.reached(); }

  [[nodiscard]] const ExitReason& exit_reason() const { return exit_reason_; }
  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] const std::vector<SliceMemory>& slices() const { return slices_; }
  [[nodiscard]] Term term() const { return term_; }
  [[nodiscard]] Version version() const;  // the lowest of its slices
  [[nodiscard]] bool loaded() const;

  // For its replica. What makes a shard that was just welcomed the same as this one: the messages that it has
  // to hear, in this order. Nothing while a slice has a part of an open round, and while this shard knows
  // something that no message tells.
  [[nodiscard]] std::optional<std::vector<Envelope>> snapshot() const;
  // Nodes whose pulls it has, answered or not.
  [[nodiscard]] std::set<NodeId> pulling() const {
    const auto nodes = std::views::keys(pulls_);
    return {nodes.begin(), nodes.end()};
  }
  // While pushes are gathered and the next heartbeat is due: the message that it has to hear before that.
  [[nodiscard]] std::optional<IdleTick> due_quiet(Time now) const;
  // Its heartbeats say this of its mirror from now on.
  void set_mirror(const MirrorState& mirror) { mirror_ = mirror; }
  void beat(Outbox& out);  // once it has joined

 private:
  struct WaitingPull {
    Pull pull;
    std::vector<std::uint32_t> slices;    // not answered yet
    std::uint32_t sent = 0, arrived = 0;  // slices, since it was asked
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
  // Closes the slice's open rounds, the oldest first, as long as the ledger holds the positions that they
  // need (BeginRound::quorum). With a clip barrier it tells the scheduler instead. `quiet`: nothing came
  // since the last heartbeat; gaps of later rounds are told once this one is closed.
  void close_covered(SliceMemory& slice, Outbox& out, bool quiet = false);
  void close(std::span<SliceMemory> slices, const BeginRound& open, double scale, Outbox& out);
  void closed(SliceMemory& slice, const BeginRound& open, Outbox& out);
  void answer_waiting(const SliceMemory& slice, Outbox& out);
  void answer(NodeId worker, WaitingPull& waiting, Outbox& out);
  bool answer(NodeId worker, WaitingPull& waiting, const SliceMemory& slice, Outbox& out) const;
  [[nodiscard]] bool sound(const Push& push);
  [[nodiscard]] std::uint32_t number(const SliceMemory& slice) const;

  bool send_part(StatePart part, Outbox& out);
  // Of state in a slice, parameters included.
  [[nodiscard]] std::uint32_t slots() const { return 1 + state_slots(job_); }
  void want(Time now, bool answer, Outbox& out);
  [[nodiscard]] bool at_rest() const;

  const Options options_;
  Session session_;
  ExitReason exit_reason_;
  Counts counts_;
  std::uint64_t told_added_ = 0;  // as of the last heartbeat

  Job job_;
  std::unique_ptr<CloseRule> rule_;
  Term term_ = 0;
  std::uint32_t first_ = 0;  // number of slices_[0] in the whole model
  std::vector<SliceMemory> slices_;
  CodedSlices coded_;
  NormLimit norms_{0, 0};  // once it has joined, of its slices

  std::map<Round, BeginRound> open_;     // rounds that not every slice here has closed
  std::set<Round> reported_covered_;     // with a clip barrier
  Round opened_ = 0;                     // rounds below are known
  HeldPushes held_{0};                   // once it has joined, of its slices
  std::map<NodeId, WaitingPull> pulls_;  // one a worker: the latest counts

  std::optional<SavedVersions> saved_;  // once it has joined
  std::optional<NodeId> checkpointer_;
  std::optional<Transfer> loading_;  // until all of the first state is here
  MirrorState mirror_;
};

}  // namespace steelyard
