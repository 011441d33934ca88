// Device memory that processes of one host share: CUDA IPC. Part of the interface to a device
// (nn/cuda/runtime.h), with the same two implementations: nn/cuda/device, and nn/cuda/host, where such memory
// lies in segments (core/segment.h).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/device_exchange.h"

namespace steelyard::nn::cuda {

// The device that this thread has selected (use_device).
unsigned used_device();

// Device memory, as DeviceMemory in nn/cuda/runtime.h, that other processes can open by its name. It is never
// freed: a driver leaves undefined what then happens to readers.
struct NamedMemory {
  // Throws OutOfMemory. `bytes`: a multiple of named_granularity.
  static NamedMemory make(std::uint64_t bytes);

  void* data = nullptr;
  std::uint64_t bytes = 0;
  std::optional<DevicePlace::Name> name{};  // nothing if the driver or the system refuses
};

// Smaller allocations of a device may share a block, which other processes would open as a whole.
inline constexpr std::uint64_t named_granularity = 2 << 20;

// Memory of another process, on this or another device, which this thread's device can read.
class OpenedMemory {
 public:
  // Null if no memory has this name and at least this size, or if the device cannot read it.
  static std::unique_ptr<OpenedMemory> open(const DevicePlace::Name& name, std::uint64_t bytes);
  ~OpenedMemory();
  OpenedMemory(const OpenedMemory&) = delete;
  OpenedMemory& operator=(const OpenedMemory&) = delete;

  [[nodiscard]] const void* data() const { return data_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  OpenedMemory(const void* data, std::uint64_t bytes, std::shared_ptr<const void> owner)
      : data_(data), bytes_(bytes), owner_(std::move(owner)) {}

  const void* data_;
  std::uint64_t bytes_;
  std::shared_ptr<const void> owner_;  // of the mapping, in the host implementation
  unsigned device_ = used_device();
};

}  // namespace steelyard::nn::cuda
