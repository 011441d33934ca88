// Transfers of a worker's state through the shards (protocol/state_messages.h), part by part with a window.
// A worker uploads from its file or downloads into it; so does the checkpointer. Pure, except for the reads
// and writes of the caller's file.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "protocol/machine.h"
#include "protocol/transfer.h"

namespace steelyard {

// Part p is kept by this shard of the roster. The shards must not be empty.
inline NodeId keeper_of(std::uint32_t part, std::span<const ShardPlace> shards) {
  return shards[part % shards.size()].node;
}

class StateUpload {
 public:
  using Read = std::function<Blob(std::uint64_t begin, std::uint64_t bytes)>;

  // `bytes`: of the whole state, at least 1.
  StateUpload(Term term, std::uint64_t attempt, Version version, std::uint64_t bytes, Read read);

  // Sends the parts that are due. Throws what `read` throws.
  void send(Time now, std::span<const ShardPlace> shards, Outbox& out);
  void stored(Time now, const StateStored& stored);
  // A connection to a shard broke: parts in flight are sent again.
  void restart() { transfer_.restart(); }

  [[nodiscard]] bool complete() const { return transfer_.complete(); }
  [[nodiscard]] std::uint64_t attempt() const { return attempt_; }

 private:
  const Term term_;
  const std::uint64_t attempt_;
  const Version version_;
  const std::uint64_t bytes_;
  const Read read_;
  Transfer transfer_;
};

class StateDownload {
 public:
  using Write = std::function<void(std::uint64_t begin, const Blob& bytes)>;

  // `attempt` 0: any attempt of this version; the first part that arrives decides.
  StateDownload(Term term, std::uint64_t attempt, Version version, Write write);

  // Requests the parts that are due. Returns the shards that keep them.
  std::vector<NodeId> ask(Time now, std::span<const ShardPlace> shards, Outbox& out);
  // Takes a part. Returns false if it is late, repeated or malformed. Throws what `write` throws.
  bool take(Time now, const WorkerState& part);
  void restart();  // a connection to a shard broke

  [[nodiscard]] bool begun() const { return parts_.has_value(); }
  [[nodiscard]] bool complete() const { return parts_ && parts_->complete(); }
  [[nodiscard]] bool superseded() const { return superseded_; }  // the shards keep a later attempt
  [[nodiscard]] std::uint64_t attempt() const { return attempt_; }
  [[nodiscard]] Version version() const { return version_; }

 private:
  const Term term_;
  const std::uint64_t attempt_;
  const Version version_;
  const Write write_;
  std::uint64_t decided_;          // the attempt whose parts are taken; 0: not known yet
  Transfer first_{1, 1};           // of part 0, which says how many there are
  std::optional<Transfer> parts_;  // of all parts, once their number is known
  bool superseded_ = false;
};

}  // namespace steelyard
