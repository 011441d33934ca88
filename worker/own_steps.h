// OwnSteps: the part of a worker in jobs whose workers take the optimizer steps
// (nn::Optimizer::Kind::worker; protocol/state_messages.h).
//
// The worker pulls every version, from the first one or from the version of a loaded state on, and passes it
// to the compute node. If it misses one, its state is lost: it asks the scheduler for that of another worker.
//
// The compute node answers each version (StepTaken), so the worker knows which steps its program has taken.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "protocol/machine.h"
#include "protocol/state_transfer.h"

namespace steelyard {

// The messages to a worker that OwnSteps handles.
template <class Said>
concept OfOwnSteps =
    OneOf<Said, UploadState, LoadState, StateStored, WorkerState, StateWritten, StateLost, StepTaken>;

class OwnSteps {
 public:
  using MakeFile = std::function<std::shared_ptr<StateFile>()>;

  OwnSteps(Term term, MakeFile make_file) : term_(term), make_file_(std::move(make_file)) {}

  // The next version to pull: 0 at first. Nothing if the worker waits for a state.
  [[nodiscard]] std::optional<Version> follows() const { return next_; }
  // Whether the worker can be assigned pieces: it has the state, or reads it now.
  [[nodiscard]] bool has_state() const { return has_state_; }
  // Whether it is known if the first version can still be pulled.
  [[nodiscard]] bool decided() const { return has_state_ || !next_ || download_; }
  // Whether the program has taken all steps up to this version.
  [[nodiscard]] bool has_taken(Version version) const { return taken_ && *taken_ >= version; }
  [[nodiscard]] std::uint64_t loading() const { return download_ ? download_->attempt() : 0; }

  // The version that follows() named has arrived.
  void arrived(Version version, const Blob& values, Outbox& out);
  // That version is superseded, or handle() has returned Change::lost: the state is lost.
  void expired(Outbox& out);

  enum class Change : std::uint8_t {
    none,
    loads,  // a state is being loaded: follows() has changed
    ready,  // the state is complete: has_state()
    lost,   // the state, or that being loaded, cannot be used
  };
  Change handle(Time now, const UploadState& order, std::span<const ShardPlace> shards, Outbox& out);
  Change handle(Time now, const LoadState& order, std::span<const ShardPlace> shards, Outbox& out);
  Change handle(Time now, const StateStored& stored, std::span<const ShardPlace> shards, Outbox& out);
  Change handle(Time now, const WorkerState& part, std::span<const ShardPlace> shards, Outbox& out);
  Change handle(Time now, const StateWritten& written, std::span<const ShardPlace> shards, Outbox& out);
  Change handle(Time, const StateLost&, std::span<const ShardPlace>, Outbox&) {
    return has_state_ ? Change::lost : Change::none;
  }
  Change handle(Time now, const StepTaken& step, std::span<const ShardPlace> shards, Outbox& out);

  // Repeats what is due: with every heartbeat.
  void wake(Time now, std::span<const ShardPlace> shards, Outbox& out);
  void restart();  // a connection to a shard broke

 private:
  const Term term_;
  const MakeFile make_file_;
  std::optional<Version> next_ = 0;
  bool has_state_ = false;
  std::optional<Version> taken_;

  std::shared_ptr<StateFile> written_to_, loaded_from_;
  std::optional<UploadState> order_;  // being written or uploaded
  std::optional<StateUpload> upload_;
  std::optional<StateDownload> download_;
};

}  // namespace steelyard
