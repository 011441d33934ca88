// Checkpoints on disk: one directory per version, complete or absent.
//
//   checkpoints/1180/model.safetensors      parameters, by the names of the layout
//                    optimizer.safetensors  state, as "state.<slot>.<name>"; slots count from 1
//                    worker_state.bin       instead of both, if workers take the optimizer steps: bytes that
//                                           the workers' program has written (PyTorch: torch.load() reads it)
//                    MANIFEST.json          progress, seed, layout, and the size and hash of each file
//
// The writer fills a temporary directory ("1180.tmp-...") with values in order of arrival, reads the complete
// files back, renames the directory, and only then removes the oldest checkpoints. If it is killed at any
// point, all existing checkpoints remain, and the next write removes its leftovers. A directory of
// checkpoints has one writer at a time.
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

// SampleSource: the training samples. Together with the seed it determines the sample at each position of an
// epoch, so a job that resumes within an epoch needs the same source.
struct SampleSource {
  std::string data;           // the data set's name
  std::uint64_t samples = 0;  // training samples; 0: unknown, written by an earlier release
  std::string hash;           // of the values and labels of some samples: 32 hexadecimal digits
  std::uint64_t batch = 0;    // samples in a round, for display
  // Inputs are (raw - mean) / deviation, so that other programs can use the model: one number for all values,
  // or one per channel.
  std::vector<double> mean{0}, deviation{1};
  // Shape of a sample as input of the model: with it and the job, the model can be built without the data
  // set. All 0: unknown, because an earlier release wrote it or a worker's program does not state it.
  std::uint32_t height = 0, width = 0, channels = 0, classes = 0;
  // Names of classes (or targets) and of columns (include/steelyard/data_set.h); earlier releases wrote none.
  std::vector<std::string> class_names{}, column_names{};
  // The layers of a model that the job file describes, but not dropout, which training may change; empty: a
  // model of another kind.
  std::vector<std::string> layers{};
  // DataSets::target_scale; both empty: the model predicts classes. Earlier releases wrote none.
  std::vector<double> target_mean{}, target_deviation{};
  friend bool operator==(const SampleSource&, const SampleSource&) = default;
};

// A consistent snapshot of a training: enough to resume it with identical results, on any number of shards
// and workers.
struct Snapshot {
  Progress progress;
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;  // of the job
  Layout layout;
  std::vector<float> parameters;          // layout.size() floats
  std::vector<std::vector<float>> state;  // of the optimizer: one vector per slot, as long as the parameters
  std::uint64_t steps = 0;                // of the optimizer
  SampleSource source = {};               // determines the order of samples, together with the seed
  // Workers take the optimizer steps: this is the model, and parameters and state above are unused.
  bool on_workers = false;
  std::shared_ptr<StateFile> worker_state{};
};

inline constexpr std::size_t kept_checkpoints = 3;

// Receives a version part by part, in any order. If a call throws, or if the sink is destroyed before
// finish(), nothing of the attempt remains. Used by one thread.
class CheckpointSink {
 public:
  virtual ~CheckpointSink() = default;
  // Stores `values` at `offset` (in floats) of a slot: 0 holds parameters, 1.. optimizer state. Each float of
  // each slot must be put once.
  virtual void put(std::size_t slot, std::uint64_t offset, std::span<const float> values) = 0;
  // Stores bytes of the workers' state at this offset; each byte must be put once.
  virtual void put_state(std::uint64_t offset, const Blob& bytes) = 0;
  // Completes the checkpoint and returns its location, for display. `steps`: of the optimizer.
  virtual std::string finish(std::uint64_t steps) = 0;
};
// Creates a sink for a snapshot without values and steps.
using OpenCheckpoint =
    std::function<std::unique_ptr<CheckpointSink>(const Snapshot& about, std::size_t state_slots)>;

// Creates <dir>/<version>; finish() returns its path and removes all but the newest three. Values are written
// to the file at once and not held in memory. This function and the sink throw Failure (io) if the disk is
// full or a write fails.
std::unique_ptr<CheckpointSink> open_checkpoint(const std::string& dir, const Snapshot& about,
                                                std::size_t state_slots);
// Writes a complete snapshot. Returns and throws as above.
std::string write_checkpoint(const std::string& dir, const Snapshot& snapshot);

// Reads one checkpoint. Every byte is checked against the manifest; damage throws Failure (io), which names
// the file and the problem.
Snapshot read_checkpoint(const std::string& path);

// All checkpoints with a valid manifest, newest first: by term, then by version. Their other files are not
// read. `warnings` gets one line for each directory that is skipped.
std::vector<std::string> list_checkpoints(const std::string& dir,
                                          std::vector<std::string>* warnings = nullptr);

// The newest undamaged checkpoint, with all hashes correct. `warnings` gets a line for each damaged one.
// Throws Failure (io) if none is found.
std::string newest_checkpoint(const std::string& dir, std::vector<std::string>* warnings = nullptr);

// Checkpoints in memory, without files: for simulations and tests.
class MemorySink final : public CheckpointSink {
 public:
  using Store = std::function<std::string(const Snapshot&)>;  // returns the location

  MemorySink(Snapshot about, std::size_t state_slots, Store store)
      : snapshot_(std::move(about)), store_(std::move(store)) {
    snapshot_.parameters.resize(snapshot_.layout.size());
    snapshot_.state.assign(state_slots, std::vector<float>(snapshot_.layout.size()));
  }

  void put(std::size_t slot, std::uint64_t offset, std::span<const float> values) override {
    std::vector<float>& whole = slot == 0 ? snapshot_.parameters : snapshot_.state.at(slot - 1);
    std::ranges::copy(values, whole.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  void put_state(std::uint64_t offset, const Blob& bytes) override {
    const std::span<const std::byte> part = bytes.bytes();
    worker_state_.resize(std::max<std::size_t>(worker_state_.size(), offset + part.size()));
    std::ranges::copy(part, worker_state_.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  [[nodiscard]] const std::vector<std::byte>& worker_state() const { return worker_state_; }
  std::string finish(std::uint64_t steps) override {
    snapshot_.steps = steps;
    return store_(snapshot_);
  }

 private:
  Snapshot snapshot_;
  std::vector<std::byte> worker_state_;
  const Store store_;
};

inline OpenCheckpoint in_memory(MemorySink::Store store) {
  return [store = std::move(store)](const Snapshot& about, std::size_t state_slots) {
    return std::make_unique<MemorySink>(about, state_slots, store);
  };
}

}  // namespace steelyard
