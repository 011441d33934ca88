// Checkpoints in memory, where a version is wanted and no file: simulations, tests.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include "server/checkpoint/checkpoint.h"

namespace steelyard {

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
