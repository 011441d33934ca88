// Members: who belongs to the job, and when each was last heard. Slots are small numbers given out in the
// order of arrival and kept for a name; nodes are incarnations.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "wire/messages.h"

namespace steelyard {

struct WorkerMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  std::string kind;
  std::uint64_t most = 0;  // positions of one piece; 0: no limit
  bool ready = false;      // has model and data
  bool present = true;     // its connection lives and it is not silent
  Time last_heard;
  double cpu = -1, memory = -1;  // as last reported
};

struct ShardMember {
  NodeId node;
  std::uint32_t slot = 0;
  std::string name;
  std::string endpoint;
  Time last_heard;
  Time opens_sent;  // when Opens were last repeated
  bool loaded = false;
  bool broken = false;  // its connection is gone; a word from it mends that
  Version version = 0;
};

class Members {
 public:
  std::map<std::uint32_t, WorkerMember> workers;  // by slot: the order of every plan
  std::map<std::uint32_t, ShardMember> shards;
  std::optional<NodeId> keeper;

  [[nodiscard]] WorkerMember* worker(NodeId node);
  [[nodiscard]] ShardMember* shard(NodeId node);
  [[nodiscard]] std::string worker_name(NodeId node) const;
  // The slot for a newcomer of this name: its former one, or the lowest that is free.
  [[nodiscard]] std::uint32_t worker_slot(const std::string& name) const;
  [[nodiscard]] std::optional<std::uint32_t> shard_slot(const std::string& name, std::uint32_t limit) const;

  [[nodiscard]] std::vector<std::uint32_t> working() const;  // slots of workers that are ready and present
  [[nodiscard]] bool all_shards_loaded(std::uint32_t wanted) const;
  [[nodiscard]] Version lowest_version() const;  // of all shards

 private:
  // Where a node was last found; looked at first, believed only if it is still true.
  std::map<NodeId, std::uint32_t> seen_;
};

}  // namespace steelyard
