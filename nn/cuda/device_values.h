// Values in the memory of a CUDA device that several streams, also of different threads, use one after the
// other: versions of slices and gradients.
//
// A DeviceBuffer is written by one stream and then read by any number of others. No thread waits, except one
// that lends to another process: each reading stream waits for the event behind the last write, and a stream
// that writes the buffer again waits for the events behind all reads. So a buffer may return to its pool
// while a device still reads it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/device_values.h"
#include "core/flat_pool.h"
#include "nn/cuda/lendable_memory.h"
#include "nn/cuda/runtime.h"
#include "nn/optimizer/slice_arithmetic.h"

namespace steelyard::nn::cuda {

// Any thread; each stream is used by its own.
class DeviceBuffer {
 public:
  explicit DeviceBuffer(std::uint64_t floats)
      : memory_(std::in_place, floats * sizeof(float)),
        values_(static_cast<float*>(memory_->data()), floats) {}
  // Borrowed from another process, and complete. Only for reading; `owner` keeps them there.
  DeviceBuffer(std::span<const float> values, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), values_(const_cast<float*>(values.data()), values.size()) {}
  ~DeviceBuffer();  // waits for all work that uses it

  [[nodiscard]] std::span<float> values() const { return values_; }
  // See LendableMemory. lend() waits until all writes are done, while other threads may read; call it after
  // written(). Nothing for borrowed values.
  [[nodiscard]] std::optional<DevicePlace> lend() const;
  void retire() const {
    if (memory_) memory_->retire();
  }
  [[nodiscard]] bool retired() const { return memory_ && memory_->retired(); }

  // Work that `stream` adds from now on may write it.
  void begin_to_write(Stream& stream);
  // All writes have been added to `stream`.
  void written(Stream& stream);
  // Work that `stream` adds from now on may read it.
  void begin_to_read(Stream& stream) const;
  // All reads have been added to `stream`.
  void read(Stream& stream) const;

 private:
  std::optional<LendableMemory> memory_;  // or
  std::shared_ptr<const void> owner_;     // of memory of another process
  const std::span<float> values_;
  mutable std::mutex mutex_;  // protects the events: records, and waits of streams
  Event written_;
  mutable std::map<const Stream*, Event> read_;  // the last read of each stream
};

// Reuses buffers of one size, like BufferPool. Any thread, but buffers are made and freed on the device that
// the calling thread has selected.
class DevicePool {
 public:
  explicit DevicePool(std::uint64_t floats) : store_(std::make_shared<Store>(floats)) {}

  // A buffer that `stream` may write; contents unspecified. It returns when the last pointer is destroyed.
  [[nodiscard]] std::shared_ptr<DeviceBuffer> take(Stream& stream);

 private:
  struct Store {
    explicit Store(std::uint64_t its_size) : size(its_size) {}
    const std::uint64_t size;
    std::mutex mutex;  // protects free
    std::vector<std::unique_ptr<DeviceBuffer>> free;
  };
  const std::shared_ptr<Store> store_;  // outlives the pool while any buffer is in use
};

// Where a copy on the host is made: from `begin` in a buffer of `floats` values. Without a pool: in private
// memory.
struct HostPlace {
  std::shared_ptr<FlatPool> pool{};
  std::uint64_t floats = 0, begin = 0, version = 0;
};

// A part of a buffer that has been written.
class CudaValues final : public DeviceValues {
 public:
  // Returns whether all values are finite; called at most once, waits for the device. Empty: unknown.
  using Finite = std::function<bool()>;

  CudaValues(unsigned device, std::shared_ptr<const DeviceBuffer> buffer, std::span<const float> values,
             HostPlace place = {}, Finite finite = {})
      : device_(device),
        buffer_(std::move(buffer)),
        values_(values),
        place_(std::move(place)),
        finite_(std::move(finite)) {}

  [[nodiscard]] unsigned device() const { return device_; }
  [[nodiscard]] std::uint64_t size() const override { return values_.size(); }
  [[nodiscard]] OnHost on_host() const override;

  // Work that `stream`, of the same device, adds from now on may read the returned device memory, up to
  // read().
  [[nodiscard]] std::span<const float> begin_to_read(Stream& stream) const {
    buffer_->begin_to_read(stream);
    return values_;
  }
  void read(Stream& stream) const { buffer_->read(stream); }
  [[nodiscard]] std::optional<bool> finite() const;
  [[nodiscard]] const DeviceBuffer& buffer() const { return *buffer_; }
  [[nodiscard]] std::uint64_t place() const {  // in the buffer
    return static_cast<std::uint64_t>(values_.data() - buffer_->values().data());
  }

 private:
  const unsigned device_;
  const std::shared_ptr<const DeviceBuffer> buffer_;
  const std::span<const float> values_;  // on the device
  const HostPlace place_;
  const Finite finite_;

  mutable std::mutex mutex_;  // protects what follows
  mutable std::optional<FlatPool::Part> host_;
  mutable std::optional<bool> is_finite_;
};

// Copies from the device, through pinned memory if the device cannot write the memory of the host directly,
// and waits for all work of the stream.
void copy_to_host(Stream& stream, std::span<float> to, std::span<const float> from);

// Null if they are not on this device.
[[nodiscard]] inline const CudaValues* values_on(unsigned device, const SliceValues& values) {
  const auto* const its = dynamic_cast<const CudaValues*>(values.device.get());
  return its != nullptr && its->device() == device ? its : nullptr;
}

}  // namespace steelyard::nn::cuda
