// WorkerStates: this shard's parts of the state of workers that take the optimizer steps
// (protocol/state_messages.h). It keeps the parts of the latest attempt, which another worker or the
// checkpointer may still be uploading; requests for parts that have not arrived wait.
//
// The parts are in a file if the host provides one, so that its memory does not grow with the model: the size
// of the state divided by the number of shards. A part that cannot be written stays in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

class WorkerStates {
 public:
  // Makes an empty file, or throws Failure (io).
  using MakeFile = std::function<std::shared_ptr<StateFile>()>;

  explicit WorkerStates(MakeFile make_file = {}) : make_file_(std::move(make_file)) {}

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
  struct Part {
    std::uint64_t size = 0;  // bytes
    Blob bytes{};            // empty: they are in the file
  };
  [[nodiscard]] Part store(const PutState& put);
  [[nodiscard]] Blob load(std::uint32_t number, const Part& part) const;
  // Answers the request if possible.
  [[nodiscard]] bool answer(const Waiting& it, Outbox& out) const;
  [[nodiscard]] bool is_superseded(const GetState& get) const;

  MakeFile make_file_;
  Term term_ = 0;
  std::uint64_t attempt_ = 0;  // 0: none yet
  Version version_ = 0;
  std::uint32_t number_ = 0;             // of parts, over all shards
  std::map<std::uint32_t, Part> parts_;  // by their number
  std::shared_ptr<StateFile> file_;      // of this attempt
  std::vector<Waiting> waiting_;
};

}  // namespace steelyard
