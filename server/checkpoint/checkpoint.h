// Checkpoints on disk: a directory per version, whole or not there.
//
//   checkpoints/1180/model.safetensors      parameters, by the names of the layout
//                    optimizer.safetensors  state, as "state.<slot>.<name>"; slots count from 1
//                    MANIFEST.json          progress, seed, layout, and the size and hash of each file
//
// A checkpoint is written to a directory of another name ("1180.tmp-..."), its values as they come, read back
// when all of it is there, and renamed; only then the oldest are removed. Whatever kills the writer, the
// checkpoints that were there stay there, and what it leaves behind is swept up by the next write. One
// directory of checkpoints has one writer at a time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/layout.h"
#include "protocol/messages.h"

namespace steelyard {

// SampleSource: what a training takes its samples from. With the seed it decides which sample stands at which
// position of an epoch, so a job that goes on in the middle of one needs the same.
struct SampleSource {
  std::string data;           // the data set's name
  std::uint64_t samples = 0;  // for training; 0: not known, the checkpoint is of an earlier release
  std::string hash;           // of some of them, values and labels: 32 hexadecimal digits
  std::uint64_t batch = 0;    // samples in a round, for people
  // Inputs are (raw - mean) / deviation, for whoever uses the model elsewhere: one number for all values, or
  // one for each channel.
  std::vector<double> mean{0}, deviation{1};
  // Of a sample, as the model takes it: with them and the job the model can be made without the data set.
  // All 0: not known, the checkpoint is of an earlier release, or of a worker's program that does not say.
  std::uint32_t height = 0, width = 0, channels = 0, classes = 0;
  friend bool operator==(const SampleSource&, const SampleSource&) = default;
};

// One cut through a training: enough to go on as if nothing had happened, on any number
// of shards and workers.
struct Snapshot {
  Progress progress;
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;  // of the job
  Layout layout;
  std::vector<float> parameters;          // layout.size() floats
  std::vector<std::vector<float>> state;  // of the optimizer: per slot, as long as the parameters
  std::uint64_t steps = 0;                // of the optimizer
  SampleSource source = {};               // with the seed: what the order of samples follows from
};

inline constexpr std::size_t kept_checkpoints = 3;

// Where a version goes that comes piece by piece, in any order. Whatever it throws, and if it is destroyed
// before it is finished, nothing of the attempt remains. Used by one thread.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  // `values` belong at `offset` (in floats) of a slot: 0 holds parameters, 1.. optimizer state. Every float
  // of every slot comes once.
  virtual void put(std::size_t slot, std::uint64_t offset, std::span<const float> values) = 0;
  virtual std::string finish(std::uint64_t steps) = 0;  // where it is, for people
};
// Makes one for a snapshot of which everything is known but values and steps.
using OpenCheckpoint =
    std::function<std::unique_ptr<CheckpointSink>(const Snapshot& about, std::size_t state_slots)>;

// Makes <dir>/<version>; finish() returns its path and keeps the newest three. Holds none of the values: what
// comes goes to the file. Throws Failure (io), now and later, when the disk is full or does not obey.
std::unique_ptr<CheckpointSink> open_checkpoint(const std::string& dir, const Snapshot& about,
                                                std::size_t state_slots);
// The same of a snapshot that is whole.
std::string write_checkpoint(const std::string& dir, const Snapshot& snapshot);

// `path` is one checkpoint. Every byte is checked against the manifest; damage is Failure (io) that names the
// file and what is wrong with it.
Snapshot read_checkpoint(const std::string& path);

// All checkpoints with a good manifest, newest first: by term, then by version. Their files are not looked
// at. What was passed over is told in `warnings`, one line each.
std::vector<std::string> list_checkpoints(const std::string& dir,
                                          std::vector<std::string>* warnings = nullptr);

// The newest checkpoint of which every hash is right. Damaged ones are passed over and told in `warnings`.
// Failure (io) if there is none.
std::string newest_checkpoint(const std::string& dir, std::vector<std::string>* warnings = nullptr);

// Checkpoints in memory, where a version is wanted and no file: simulations, tests.
class MemorySink final : public CheckpointSink {
 public:
  using Store = std::function<std::string(const Snapshot&)>;  // says where it is

  MemorySink(Snapshot about, std::size_t state_slots, Store store)
      : snapshot_(std::move(about)), store_(std::move(store)) {
    snapshot_.parameters.resize(snapshot_.layout.size());
    snapshot_.state.assign(state_slots, std::vector<float>(snapshot_.layout.size()));
  }

  void put(std::size_t slot, std::uint64_t offset, std::span<const float> values) override {
    std::vector<float>& whole = slot == 0 ? snapshot_.parameters : snapshot_.state.at(slot - 1);
    std::ranges::copy(values, whole.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  std::string finish(std::uint64_t steps) override {
    snapshot_.steps = steps;
    return store_(snapshot_);
  }

 private:
  Snapshot snapshot_;
  const Store store_;
};

inline OpenCheckpoint in_memory(MemorySink::Store store) {
  return [store = std::move(store)](const Snapshot& about, std::size_t state_slots) {
    return std::make_unique<MemorySink>(about, state_slots, store);
  };
}

}  // namespace steelyard
