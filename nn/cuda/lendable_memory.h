// LendableMemory: device memory that other processes of the host may open.
//
// It is a part of a large block, since opening memory takes longer than most copies and has a granularity.
// Blocks are never freed (nn/cuda/named_memory.h); a part is used again for the next memory of its size on
// its device.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "core/device_exchange.h"
#include "nn/cuda/named_memory.h"
#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

// From now on this process makes memory that others can open, and before that for itself alone.
void begin_to_lend();

class LendableMemory {
 public:
  explicit LendableMemory(std::uint64_t bytes);
  ~LendableMemory();
  LendableMemory(const LendableMemory&) = delete;
  LendableMemory& operator=(const LendableMemory&) = delete;

  [[nodiscard]] void* data() const { return own_ ? own_->data() : part_.data; }
  // Nothing if no other process can open it.
  [[nodiscard]] std::optional<DevicePlace> place() const;

  // A reader was lost and may read for ever: the memory must not be used again after this object.
  void retire() const { retired_ = true; }
  [[nodiscard]] bool retired() const { return retired_; }

 private:
  friend class Blocks;
  struct Part {
    void* data = nullptr;
    const NamedMemory* block = nullptr;
  };

  const unsigned device_ = used_device();
  const std::uint64_t bytes_;
  std::optional<DeviceMemory> own_;  // for this process alone, or
  Part part_;
  mutable std::atomic<bool> retired_{false};
};

}  // namespace steelyard::nn::cuda
