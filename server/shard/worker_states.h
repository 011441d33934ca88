// WorkerStates: this shard's parts of the state of workers that take the optimizer steps
// (protocol/state_messages.h). It keeps the parts of the latest attempt, which another worker or the
// checkpointer may still be uploading; requests for parts that have not arrived wait.
//
// Its memory is the parts of one attempt: the size of the state divided by the number of shards.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

class WorkerStates {
 public:
  // Keeps the part and answers the requests that wait for it. Parts of a later attempt replace all parts of
  // an earlier one. Returns false, without a change, if the part is malformed.
  bool put(NodeId from, const PutState& put, Outbox& out);
  void get(NodeId from, const GetState& get, Outbox& out);
  // The node disconnected: it repeats its requests if it returns.
  void forget(NodeId node);

  // Messages that give another shard the same parts.
  [[nodiscard]] std::vector<PutState> kept() const;

 private:
  struct Waiting {
    NodeId node;
    GetState get;
  };
  // Answers the request if possible.
  [[nodiscard]] bool answer(const Waiting& it, Outbox& out) const;
  [[nodiscard]] bool is_superseded(const GetState& get) const;

  std::uint64_t attempt_ = 0;  // 0: none yet
  Version version_ = 0;
  std::uint32_t number_ = 0;                 // of parts, over all shards
  std::map<std::uint32_t, PutState> parts_;  // by part
  std::vector<Waiting> waiting_;
};

}  // namespace steelyard
