// Members: the nodes of the job, and when each last sent a message. A slot is a small number, assigned in
// order of arrival and reserved for the member's name: a restarted process gets its former slot, but a new
// NodeId.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

// WorkerProgress: whether a worker makes progress with its pieces, according to its heartbeats.
//
// A live worker may be stuck because it cannot reach a server or read its data. Its heartbeats count the
// slices received and the micro-batches computed; if that count does not grow while the worker owes a piece,
// the worker makes no progress. The time limit depends on the longest standstill of this worker that ended
// without intervention.
class WorkerProgress {
 public:
  void heard(Time now, const WorkerBeat& beat);
  // The time until now does not count as a standstill: the worker could not make or report progress.
  void interrupted(Time now);

  // Time without progress. `possible`: time from which the worker's pieces could be computed.
  [[nodiscard]] Duration standstill(Time now, Time possible) const {
    return now - std::max(moved_, possible);
  }
  // Whether this standstill exceeds the limit. `dead`: Job::heartbeat_timeout.
  [[nodiscard]] bool too_long(Duration standstill, Time now, Duration dead) const;
  // Time for which some shard has not answered the worker's repeated requests. Zero: all answer.
  [[nodiscard]] Duration cut_off(Time now) const {
    return cut_off_since_ ? now - *cut_off_since_ : Duration{};
  }
  [[nodiscard]] const std::vector<NodeId>& unreached() const { return unreached_; }

 private:
  std::uint64_t progress_ = 0;
  Time moved_{};        // when it last made progress, or owed nothing
  Duration longest_{};  // standstill that ended without intervention
  std::vector<NodeId> unreached_;
  std::optional<Time> cut_off_since_;

 public:
  void serialize(auto& fields) { fields(progress_, moved_, longest_, unreached_, cut_off_since_); }
};

// Room: the part of a background worker's machine that other programs leave free, from its heartbeats, and
// whether the worker gets a share. For the effect on rounds see scheduler/rounds/progress_monitor.h.
//
// Times are the scheduler's. For workers that are not background workers, it keeps its initial state.
class Room {
 public:
  // A heartbeat reports the free part, 0 to 1. Any other value counts as unknown.
  void heard(Time now, double left);
  // The worker has reported a training piece of this many positions.
  void did(std::uint64_t positions);

  [[nodiscard]] bool known() const { return left_ >= 0; }
  [[nodiscard]] bool out() const { return out_; }  // the worker gets no piece
  // Other programs use more than half of the processors that the worker would use.
  [[nodiscard]] bool crowded() const { return known() && left_ < 0.5; }
  [[nodiscard]] bool full(Time now) const;     // nothing has been free for some seconds
  [[nodiscard]] bool is_back(Time now) const;  // out(), but there has been room for long enough
  void leave(Time now);
  void come_back(Time now);

  // The most positions that the worker can finish in time: its recent positions x free part now / free part
  // then. `equal_part`, an equal share of a round, replaces the recent positions if it has reported none yet.
  [[nodiscard]] std::uint64_t most(std::uint64_t equal_part) const;

 private:
  double left_ = -1;
  bool full_ = false;
  Time since_{};  // last change of full_
  bool out_ = false;
  Time moved_{};                // last change of out_
  Duration trial_{};            // how long there must be room before the worker gets a share again
  double then_ = 1;             // mean free part during its last piece
  double sum_ = 0, count_ = 0;  // of the free part since then
  std::uint64_t done_ = 0;      // recent positions

 public:
  void serialize(auto& fields) {
    fields(left_, full_, since_, out_, moved_, trial_, then_, sum_, count_, done_);
  }
};

struct WorkerMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  DeviceKind kind{};
  std::uint64_t most = 0;  // positions of one piece; 0: no limit
  bool ready = false;      // it has model and data
  bool present = true;     // connected and not silent
  Time last_heard;
  double cpu = -1, memory = -1;  // over its last piece, as reported
  MachineReading reading{};      // the latest: plans use it
  WorkerProgress progress{};
  bool stalled = false;                // it makes no progress, and other workers got its pieces
  bool cut_off_said = false;           // users were notified that some server does not answer it
  std::optional<Round> rests_until{};  // it gets no piece before this round
  bool doubtful = false;               // the last messages to it may be lost; its next heartbeat shows which
  // Another process requests its name: when first, and when last.
  struct Contest {
    Time since, last;
    void serialize(auto& fields) { fields(since, last); }
  };
  std::optional<Contest> contest{};
  Duration longest_silence{};     // that ended with a message
  Room room{};                    // of a background worker
  std::array<double, 4> curve{};  // balancing::WorkerView::profile

  [[nodiscard]] bool working() const { return ready && present && !stalled && !rests_until && !room.out(); }
  void serialize(auto& fields) {
    fields(node, slot, name, kind, most, ready, present, last_heard, cpu, memory, reading, progress, stalled,
           cut_off_said, rests_until, doubtful, contest, longest_silence, room, curve[0], curve[1], curve[2],
           curve[3]);
  }
};

// The plausible values of a reading; the others become -1, so that policies do not plan with meaningless
// numbers.
[[nodiscard]] MachineReading plausible(const MachineReading& told);

struct ShardMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  std::string endpoint;
  Time last_heard;
  Time opens_sent;  // when BeginRound was last sent to all shards
  bool loaded = false;
  bool broken = false;    // its connection is closed; any message from it resets this
  Time broken_since{};    // valid if broken
  bool awaited = false;   // it is silent, and the job waits for it (scheduler/members/awaited.h)
  bool doubtful = false;  // the last messages to it may be lost; its next heartbeat shows which
  Version version = 0;
  std::uint64_t added = 0;                    // pushes, as last reported
  Time fed{};                                 // when `added` last changed
  std::uint64_t parts = 0, parts_in_all = 0;  // of its initial state, as in ShardBeat
  Staleness staleness{};                      // of the pushes it has applied, as last reported
  Duration longest_silence{};
  void serialize(auto& fields) {
    fields(node, slot, name, endpoint, last_heard, opens_sent, loaded, broken, doubtful, version, added, fed,
           parts, parts_in_all, staleness, longest_silence, broken_since, awaited);
  }
};

// A copy of the shard in its slot (scheduler/members/mirrors.h).
struct MirrorMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  std::string endpoint;
  Time last_heard;
  bool named = false;   // it has confirmed its primary and the attempt, so the primary may connect to it
  bool filled = false;  // it can replace its primary
  Duration longest_silence{};
  std::optional<Time> late{};         // when it last fell behind its primary
  std::optional<Time> rests_until{};  // not refilled before: it fell behind repeatedly
  Duration rest{};                    // the latest pause before a refill
  void serialize(auto& fields) {
    fields(node, slot, name, endpoint, last_heard, named, filled, longest_silence, late, rests_until, rest);
  }
};

class Members {
 public:
  Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  // By slot, which is the order of every plan. Add and remove workers only by add() and remove_if(), which
  // maintain the indices below.
  std::map<std::uint32_t, WorkerMember> workers;
  std::map<std::uint32_t, ShardMember> shards;
  std::map<std::uint32_t, MirrorMember> mirrors;
  std::optional<NodeId> checkpointer;
  std::uint64_t generation = 0;  // of the scheduler that leads (SchedulerBeat)

  // Replaces the worker in its slot. No other slot may have a worker of the same name or node.
  void add(WorkerMember worker);
  template <class Gone>
  void remove_if(Gone gone) {
    for (auto it = workers.begin(); it != workers.end();) {
      const bool goes = gone(it->second);
      if (goes) forget(it->second);
      it = goes ? workers.erase(it) : std::next(it);
    }
  }

  // Call after a time in which no member's messages could arrive: resets all silences, and marks all workers
  // and shards as doubtful.
  void hear_all(Time now);
  // Marks the node as doubtful: the last messages to it may be lost.
  void doubt(NodeId node);
  [[nodiscard]] bool is_doubtful(NodeId node);

  [[nodiscard]] const WorkerMember* worker(NodeId node) const;
  [[nodiscard]] WorkerMember* worker(NodeId node) {
    return const_cast<WorkerMember*>(std::as_const(*this).worker(node));
  }
  [[nodiscard]] ShardMember* shard(NodeId node);
  [[nodiscard]] MirrorMember* mirror(NodeId node);
  // The shard that decides between a scheduler and its standby (protocol/optional_messages.h): the one in the
  // last slot, because the first is more often on the scheduler's own machine and lost with it.
  [[nodiscard]] const ShardMember* arbiter() const {
    return shards.empty() ? nullptr : &shards.rbegin()->second;
  }
  [[nodiscard]] std::string worker_name(NodeId node) const;
  // The slot for a newcomer of this name: its former slot, or the lowest free one.
  [[nodiscard]] std::uint32_t worker_slot(const std::string& name) const;
  // Reserves slot i for a worker named names[i]; an empty name reserves none.
  void reserve(const std::vector<std::string>& names);
  [[nodiscard]] std::vector<std::string> names() const;  // by slot, as reserve() takes them
  [[nodiscard]] std::optional<std::uint32_t> shard_slot(const std::string& name, std::uint32_t limit) const;

  [[nodiscard]] std::vector<std::uint32_t> working() const;  // slots
  // For code that runs at every message: working() visits all workers.
  [[nodiscard]] bool anybody_works(std::optional<std::uint32_t> besides = {}) const;
  [[nodiscard]] bool all_shards_loaded(std::uint32_t wanted) const;
  [[nodiscard]] Version lowest_version() const;  // of all shards
  [[nodiscard]] Staleness staleness() const;     // of all pushes, as last reported by the shards

 private:
  using ByNode = std::vector<std::pair<NodeId, const WorkerMember*>>;
  [[nodiscard]] ByNode::const_iterator place(NodeId node) const;  // its place, or where to insert it
  void forget(const WorkerMember& worker);
  void skip_taken();

  // Indices, for jobs with thousands of workers.
  ByNode by_node_;  // sorted by node; faster to search than a tree
  std::map<std::string, std::uint32_t> slot_of_name_;
  std::map<std::uint32_t, std::string> reserved_;  // slots of workers that have not joined yet
  std::uint32_t first_free_ = 0;                   // lowest slot neither taken nor reserved

 public:
  void serialize(auto& fields) {
    std::vector<std::pair<NodeId, std::uint32_t>> slots;
    for (const auto& [node, worker] : by_node_) slots.emplace_back(node, worker->slot);
    fields(workers, shards, mirrors, checkpointer, generation, slot_of_name_, reserved_, first_free_, slots);
    by_node_.clear();
    for (const auto& [node, slot] : slots) by_node_.emplace_back(node, &workers.at(slot));
  }
};

// Rests: after a rejected gradient, a worker gets no new pieces for some rounds (train.bad_gradient =
// "rest"). It still owes the pieces that it has. The last working worker does not rest, and if no worker
// works, all rests end.
inline constexpr Round rest_rounds = 10;

// Starts a rest after `round`. Returns false if there is no such worker, or no other one works.
bool rest(Members& members, std::uint32_t slot, Round round);

// Ends the rests that are over when this round begins.
void end_rests(Members& members, Round round);
// If no worker works, ends all rests and brings back workers that are out for lack of room. Returns whether
// there were any.
bool end_rests_if_nobody_works(Time now, Members& members);

}  // namespace steelyard
