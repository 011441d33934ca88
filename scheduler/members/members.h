// Members: the nodes of the job, and when each was last heard. Slots are small numbers given out in the
// order of arrival and kept for a name; nodes are incarnations.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

// WorkerProgress: whether a worker gets on with what it owes, as its heartbeats tell.
//
// A worker may be alive and still not get on: a server that it cannot reach, data that cannot be read. Its
// heartbeats count the slices that arrive and the micro-batches that are done; while that count stands still
// although there is something to do, it makes no progress. How long is too long depends on the machine, so
// the longest standstill that ended by itself is kept.
class WorkerProgress {
 public:
  void heard(Time now, const WorkerBeat& beat);
  // Nothing could be heard until now: that was no standstill.
  void interrupted(Time now);

  // How long it has stood still, if what it owes could be done from `possible` on.
  [[nodiscard]] Duration standstill(Time now, Time possible) const {
    return now - std::max(moved_, possible);
  }
  // Whether so long a standstill is too long, where members that are silent for `dead` are lost.
  [[nodiscard]] bool too_long(Duration standstill, Time now, Duration dead) const;
  // For so long some shards have not answered it, in spite of being asked again and again. Zero: all do.
  [[nodiscard]] Duration cut_off(Time now) const {
    return cut_off_since_ ? now - *cut_off_since_ : Duration{};
  }
  [[nodiscard]] const std::vector<NodeId>& unreached() const { return unreached_; }

 private:
  std::uint64_t progress_ = 0;
  Time moved_{};        // when it last made progress, or had nothing to do
  Duration longest_{};  // standstill that ended by itself
  std::vector<NodeId> unreached_;
  std::optional<Time> cut_off_since_;

 public:
  void serialize(auto& fields) { fields(progress_, moved_, longest_, unreached_, cut_off_since_); }
};

// Room: what other programs leave of a polite worker's machine, as its heartbeats tell, and whether it gets a
// share. What follows for rounds: scheduler/rounds/progress_monitor.h.
//
// Times are the scheduler's. All of it is as new for workers that are not polite.
class Room {
 public:
  // A heartbeat says that so much is left, 0..1. Whatever is no such number is not known.
  void heard(Time now, double left);
  // The worker has done a piece of a training, of so many positions.
  void did(std::uint64_t positions);

  [[nodiscard]] bool known() const { return left_ >= 0; }
  [[nodiscard]] bool out() const { return out_; }  // the worker gets no piece
  // Others use more than half of what the worker would compute with.
  [[nodiscard]] bool crowded() const { return known() && left_ < 0.5; }
  [[nodiscard]] bool full(Time now) const;     // nothing has been left for some seconds
  [[nodiscard]] bool is_back(Time now) const;  // it is out, and there has been room for long enough
  void leave(Time now);
  void come_back(Time now);

  // The most positions that the worker can be expected to finish in time: what it did lately, times what is
  // left now over what was left then. Of a worker that has done nothing yet `equal_part`, of a round, stands
  // for that.
  [[nodiscard]] std::uint64_t most(std::uint64_t equal_part) const;

 private:
  double left_ = -1;
  bool full_ = false;
  Time since_{};  // full_ has been so since then
  bool out_ = false;
  Time moved_{};                // since then it has been out, or not
  Duration trial_{};            // so long there has to be room before it gets a share again
  double then_ = 1;             // what was left while it did its last piece, on average
  double sum_ = 0, count_ = 0;  // of what was left since then
  std::uint64_t done_ = 0;

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
  bool ready = false;      // has model and data
  bool present = true;     // its connection lives and it is not silent
  Time last_heard;
  double cpu = -1, memory = -1;  // as last reported
  WorkerProgress progress{};
  bool stalled = false;                // what it owed was given to others, for it does not get on
  bool cut_off_said = false;           // that some server does not answer it
  std::optional<Round> rests_until{};  // it gets nothing before this round
  bool doubtful = false;               // what was said to it last may be lost; its next heartbeat tells
  // Somebody else asks for its name: since when, and when last.
  struct Contest {
    Time since, last;
    void serialize(auto& fields) { fields(since, last); }
  };
  std::optional<Contest> contest{};
  Duration longest_silence{};  // before it was heard again
  Room room{};                 // of a polite one

  [[nodiscard]] bool working() const { return ready && present && !stalled && !rests_until && !room.out(); }
  void serialize(auto& fields) {
    fields(node, slot, name, kind, most, ready, present, last_heard, cpu, memory, progress, stalled,
           cut_off_said, rests_until, doubtful, contest, longest_silence, room);
  }
};

struct ShardMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  std::string endpoint;
  Time last_heard;
  Time opens_sent;  // when Opens were last repeated
  bool loaded = false;
  bool broken = false;    // its connection is gone; a word from it mends that
  Time broken_since{};    // if it is
  bool awaited = false;   // it is silent, and the job waits for it (scheduler/members/awaited.h)
  bool doubtful = false;  // what was said to it last may be lost; its next heartbeat tells
  Version version = 0;
  std::uint64_t added = 0;                    // pushes, as last told
  Time fed{};                                 // when that last grew
  std::uint64_t parts = 0, parts_in_all = 0;  // of its first state, as in ShardBeat
  Staleness staleness{};                      // of the pushes it has applied, as last told
  Duration longest_silence{};
  void serialize(auto& fields) {
    fields(node, slot, name, endpoint, last_heard, opens_sent, loaded, broken, doubtful, version, added, fed,
           parts, parts_in_all, staleness, longest_silence, broken_since, awaited);
  }
};

// Holds a copy of what the shard in its slot holds (scheduler/members/mirrors.h).
struct MirrorMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  std::string endpoint;
  Time last_heard;
  bool named = false;   // it knows its primary and the attempt, so the primary may be told of it
  bool filled = false;  // it may take that shard's place
  Duration longest_silence{};
  std::optional<Time> late{};         // when it last had not kept up with its primary
  std::optional<Time> rests_until{};  // it is not filled before: it was late soon after it had been
  Duration rest{};                    // the last one
  void serialize(auto& fields) {
    fields(node, slot, name, endpoint, last_heard, named, filled, longest_silence, late, rests_until, rest);
  }
};

class Members {
 public:
  Members() = default;
  Members(const Members&) = delete;
  Members& operator=(const Members&) = delete;

  // By slot: the order of every plan. Add and remove workers by add() and remove_if() alone: they keep the
  // indices below.
  std::map<std::uint32_t, WorkerMember> workers;
  std::map<std::uint32_t, ShardMember> shards;
  std::map<std::uint32_t, MirrorMember> mirrors;
  std::optional<NodeId> checkpointer;
  std::uint64_t generation = 0;  // of the scheduler that they follow (SchedulerBeat)

  // Replaces the worker that had its slot. No other slot has a worker of its name or node.
  void add(WorkerMember worker);
  template <class Gone>
  void remove_if(Gone gone) {
    for (auto it = workers.begin(); it != workers.end();) {
      const bool goes = gone(it->second);
      if (goes) forget(it->second);
      it = goes ? workers.erase(it) : std::next(it);
    }
  }

  // Nobody could be heard until now, and what was said last may have reached nobody.
  void hear_all(Time now);
  // What was said to this one last may not have reached it.
  void doubt(NodeId node);
  [[nodiscard]] bool is_doubtful(NodeId node);

  [[nodiscard]] const WorkerMember* worker(NodeId node) const;
  [[nodiscard]] WorkerMember* worker(NodeId node) {
    return const_cast<WorkerMember*>(std::as_const(*this).worker(node));
  }
  [[nodiscard]] ShardMember* shard(NodeId node);
  [[nodiscard]] MirrorMember* mirror(NodeId node);
  // Who decides between a scheduler and its standby (protocol/optional_messages.h): the shard in the last
  // slot. The first is more often on the scheduler's own machine, and lost with it.
  [[nodiscard]] const ShardMember* arbiter() const {
    return shards.empty() ? nullptr : &shards.rbegin()->second;
  }
  [[nodiscard]] std::string worker_name(NodeId node) const;
  // The slot for a newcomer of this name: its former one, or the lowest that is free.
  [[nodiscard]] std::uint32_t worker_slot(const std::string& name) const;
  // These slots are kept for workers of these names: names[i] has slot i, and an empty name keeps none.
  void reserve(const std::vector<std::string>& names);
  [[nodiscard]] std::vector<std::string> names() const;  // by slot, as reserve() takes them
  [[nodiscard]] std::optional<std::uint32_t> shard_slot(const std::string& name, std::uint32_t limit) const;

  [[nodiscard]] std::vector<std::uint32_t> working() const;  // slots
  [[nodiscard]] bool all_shards_loaded(std::uint32_t wanted) const;
  [[nodiscard]] Version lowest_version() const;  // of all shards
  [[nodiscard]] Staleness staleness() const;     // of all pushes, as far as shards have told

 private:
  using ByNode = std::vector<std::pair<NodeId, const WorkerMember*>>;
  [[nodiscard]] ByNode::const_iterator place(NodeId node) const;  // where it is, or would be
  void forget(const WorkerMember& worker);
  void skip_taken();

  // Indices: each of thousands of workers is found at once.
  ByNode by_node_;  // in order: quicker to search than a tree
  std::map<std::string, std::uint32_t> slot_of_name_;
  std::map<std::uint32_t, std::string> reserved_;  // slots whose bearers have not come yet
  std::uint32_t first_free_ = 0;                   // all slots below are taken or reserved, this one is not

 public:
  void serialize(auto& fields) {
    std::vector<std::pair<NodeId, std::uint32_t>> slots;
    for (const auto& [node, worker] : by_node_) slots.emplace_back(node, worker->slot);
    fields(workers, shards, mirrors, checkpointer, generation, slot_of_name_, reserved_, first_free_, slots);
    by_node_.clear();
    for (const auto& [node, slot] : slots) by_node_.emplace_back(node, &workers.at(slot));
  }
};

// Rests: a worker whose gradient was refused gets nothing for some rounds (train.bad_gradient = "rest"). What
// it owes it still owes. Somebody always works: the last one is not sent to rest, and when no other is left,
// all rests end.
inline constexpr Round rest_rounds = 10;

// After this round. False: it is not there, or the only one.
bool rest(Members& members, std::uint32_t slot, Round round);

// Ends those that are over when this round begins.
void end_rests(Members& members, Round round);
// Ends all if nobody works without them, those of workers that have no room too;
// whether there were any.
bool end_rests_if_nobody_works(Time now, Members& members);

}  // namespace steelyard
