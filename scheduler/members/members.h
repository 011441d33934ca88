// Members: the nodes of the job, and when each was last heard. Slots are small numbers given out in the
// order of arrival and kept for a name; nodes are incarnations.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/time.h"
#include "scheduler/rounds/headway.h"
#include "scheduler/members/room.h"
#include "protocol/messages.h"

namespace steelyard {

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
  Headway headway{};
  bool stalled = false;                // what it owed was given to others, for it does not get on
  bool cut_off_said = false;           // that some server does not answer it
  std::optional<Round> rests_until{};  // it gets nothing before this round (scheduler/members/rests.h)
  bool doubtful = false;               // what was said to it last may be lost; its next heartbeat tells
  // Somebody else asks for its name: since when, and when last.
  struct Contest {
    Time since, last;
  };
  std::optional<Contest> contest{};
  Duration longest_silence{};  // before it was heard again
  Room room{};                 // of a polite one

  [[nodiscard]] bool working() const { return ready && present && !stalled && !rests_until && !room.out(); }
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
  // Who decides between a scheduler and its standby (protocol/standby.h): the shard in the last slot. The first
  // is more often on the scheduler's own machine, and lost with it.
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
  friend struct SchedulerFields;
  using ByNode = std::vector<std::pair<NodeId, const WorkerMember*>>;
  [[nodiscard]] ByNode::const_iterator place(NodeId node) const;  // where it is, or would be
  void forget(const WorkerMember& worker);
  void skip_taken();

  // Indices: each of thousands of workers is found at once.
  ByNode by_node_;  // in order: quicker to search than a tree
  std::map<std::string, std::uint32_t> slot_of_name_;
  std::map<std::uint32_t, std::string> reserved_;  // slots whose bearers have not come yet
  std::uint32_t first_free_ = 0;                   // all slots below are taken or reserved, this one is not
};

}  // namespace steelyard
