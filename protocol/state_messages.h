// Messages that carry the state of a model: the initial state, checkpoints, and the state of workers that
// take the optimizer steps.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "protocol/blob.h"
#include "protocol/fields.h"
#include "protocol/node.h"
#include "protocol/terms.h"

namespace steelyard {

// ---- the initial state

struct StatePart {  // of a model: slot 0 of a slice holds parameters, 1.. optimizer state
  std::uint32_t slice = 0;
  std::uint32_t slot = 0;
  friend auto operator<=>(const StatePart&, const StatePart&) = default;
  void serialize(auto& fields) { fields(slice, slot); }
};
struct StateOffer {  // checkpointer -> shard: the initial state is available; sent with every roster
  Term term = 0;
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(term); }
};
// Shard -> checkpointer: requests these parts, a few at a time. Answers every StateOffer.
struct StateRequest {
  Term term = 0;
  std::vector<StatePart> parts;
  bool loaded = false;  // all parts have arrived
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, bounded(parts, limits::parts), loaded); }
};
struct StateChunk {  // checkpointer or primary -> shard: a part of the initial state
  Term term = 0;
  Version version = 0;
  std::uint32_t slice = 0;
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;  // optimizer steps taken
  Blob values;
  bool before = false;  // `values` is the preceding version, which workers may still request
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(term, version, slice, slot, steps, values, before); }
};

// ---- checkpoints

struct Save {  // scheduler -> checkpointer
  Progress progress;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(progress); }
};
struct Fetch {  // checkpointer -> shard: requests these parts of this version, a few at a time
  Version version = 0;
  std::vector<StatePart> parts{};
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(version, bounded(parts, limits::parts)); }
};
// Shard -> checkpointer: the round that makes this version is still open, or no worker has uploaded the part;
// some requested parts follow later.
struct NotYet {
  Version version = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(version); }
};
struct State {  // shard -> checkpointer
  Version version = 0;
  std::uint32_t slice = 0;
  std::uint32_t slot = 0;
  std::uint64_t steps = 0;
  Blob values;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(version, slice, slot, steps, values); }
};
struct Saved {  // checkpointer -> scheduler and shards: the checkpoint is durable, or has failed
  Version version = 0;
  bool ok = false;
  std::string text;  // path, or reason
  static constexpr Roles senders{Role::checkpointer};
  void serialize(auto& fields) { fields(version, ok, for_people(text, limits::text)); }
};

// ---- workers that take the steps (nn::Optimizer::Kind::worker)
//
// Servers then make no parameters: version k + 1 of a slice is the mean gradient of round k, and version 0
// has the initial parameters. Every worker pulls every version and takes the step on its own copy of the
// model. A worker without that copy - it joined late, or the job was resumed - loads the state of another
// one: model, optimizer and whatever else the worker's program needs, as bytes that only that program
// understands.
//
// The state passes through the shards, in parts of state_part_bytes: part p through shard p modulo their
// number. Each snapshot is an attempt with a higher number than all before it in the term; a shard keeps one
// attempt. In a resumed job the checkpointer uploads attempt 1 from the checkpoint.

inline constexpr std::size_t state_part_bytes = std::size_t{1} << 20;
inline constexpr std::uint64_t first_state_attempt = 1;
inline constexpr std::uint32_t most_state_parts = 1U << 20;  // a terabyte

// Whether these bytes can be that part of a state: only the last one may be shorter than the others.
inline bool is_sound(std::uint32_t part, std::uint32_t parts, const Blob& bytes) {
  const bool last = part + 1 == parts;
  return part < parts && parts <= most_state_parts && !bytes.empty() &&
         (last ? bytes.size() <= state_part_bytes : bytes.size() == state_part_bytes);
}

// Scheduler -> worker: upload your state as it is after this number of steps. Not repeated: if it fails or is
// lost, the scheduler begins another attempt.
struct UploadState {
  Term term = 0;
  std::uint64_t attempt = 0;
  Version version = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, version); }
};
// Worker -> scheduler: all parts are stored; or the worker is past that version, or could not write it.
struct StateUploaded {
  Term term = 0;
  std::uint64_t attempt = 0;
  bool ok = false;
  std::string text{};  // why not
  static constexpr Roles senders{Role::worker};
  void serialize(auto& fields) { fields(term, attempt, ok, for_people(text, limits::text)); }
};
// Scheduler -> worker, in answer to each Ready of a worker without state: load this attempt; or, if attempt
// and version are 0, pull the first version again.
struct LoadState {
  Term term = 0;
  std::uint64_t attempt = 0;
  Version version = 0;
  static constexpr Roles senders{Role::scheduler};
  void serialize(auto& fields) { fields(term, attempt, version); }
};
// Worker or checkpointer -> shard: keep this part. Answered by StateStored, and resent until then.
struct PutState {
  Term term = 0;
  std::uint64_t attempt = 0;
  Version version = 0;
  std::uint32_t part = 0, parts = 0;
  Blob bytes{};
  static constexpr Roles senders{Role::worker, Role::checkpointer};
  void serialize(auto& fields) { fields(term, attempt, version, part, parts, bytes); }
};
struct StateStored {  // shard -> worker or checkpointer
  Term term = 0;
  std::uint64_t attempt = 0;
  std::uint32_t part = 0;
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, attempt, part); }
};
// Worker or checkpointer -> shard: requests a part of this attempt (0: of any attempt of this version). The
// shard answers with WorkerState when it has the part. Resent until answered.
struct GetState {
  Term term = 0;
  std::uint64_t attempt = 0;
  Version version = 0;
  std::uint32_t part = 0;
  static constexpr Roles senders{Role::worker, Role::checkpointer};
  void serialize(auto& fields) { fields(term, attempt, version, part); }
};
struct WorkerState {  // shard -> worker or checkpointer
  Term term = 0;
  std::uint64_t attempt = 0;  // of this part; if superseded: the one requested
  Version version = 0;        // as requested
  std::uint32_t part = 0;
  std::uint32_t parts = 0;  // of the whole state; 0: superseded, the shard no longer keeps it
  Blob bytes{};
  static constexpr Roles senders{Role::shard};
  void serialize(auto& fields) { fields(term, attempt, version, part, parts, bytes); }
};

// On the worker's machine.

// The bytes of a state, on disk or in memory; the host makes it. Used by one thread at a time. Functions
// throw Failure (io).
class StateFile {
 public:
  virtual ~StateFile() = default;
  [[nodiscard]] virtual std::string path() const = 0;    // for the worker's program
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // in bytes
  [[nodiscard]] virtual Blob read(std::uint64_t begin, std::uint64_t bytes) const = 0;
  virtual void write(std::uint64_t begin, const Blob& bytes) = 0;
};

struct TakeStep {  // worker -> compute: this version has arrived; in the order of versions
  Version version = 0;
  Blob values{};
};
struct WriteState {  // worker -> compute: write the state of this version to the file
  std::uint64_t attempt = 0;
  Version version = 0;
  std::shared_ptr<StateFile> file{};
};
struct ReadState {  // worker -> compute: replace the state by that in the file; null: the state is lost
  Version version = 0;
  std::shared_ptr<StateFile> file{};
};
struct StepTaken {  // compute -> worker: has handled TakeStep or ReadState of this version
  Version version = 0;
};
struct StateLost {};   // host -> worker: the program wants another worker's state in place of its own
struct StateWritten {  // compute -> worker
  std::uint64_t attempt = 0;
  std::string trouble{};  // empty: written
};

}  // namespace steelyard
