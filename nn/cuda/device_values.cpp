#include "nn/cuda/device_values.h"

#include <algorithm>
#include <utility>

#include "nn/cuda/reachable.h"
#include "nn/cuda/unless_lost.h"

namespace steelyard::nn::cuda {

DeviceBuffer::~DeviceBuffer() {
  unless_lost([this] {
    written_.synchronize();
    for (const auto& [stream, event] : read_) event.synchronize();
  });
}

std::optional<DevicePlace> DeviceBuffer::lend() const {
  if (!memory_) return std::nullopt;
  // Without the lock: nothing is written, so the event is not recorded again, while anything has the values.
  written_.synchronize();
  return memory_->place();
}

void DeviceBuffer::begin_to_write(Stream& stream) {
  const std::lock_guard lock(mutex_);
  stream.wait(written_);
  for (const auto& [reader, event] : read_) stream.wait(event);
}

void DeviceBuffer::written(Stream& stream) {
  const std::lock_guard lock(mutex_);
  written_.record(stream);
}

void DeviceBuffer::begin_to_read(Stream& stream) const {
  const std::lock_guard lock(mutex_);
  stream.wait(written_);
}

void DeviceBuffer::read(Stream& stream) const {
  const std::lock_guard lock(mutex_);
  read_[&stream].record(stream);
}

std::shared_ptr<DeviceBuffer> DevicePool::take(Stream& stream) {
  std::unique_ptr<DeviceBuffer> buffer;
  {
    const std::lock_guard lock(store_->mutex);
    if (!store_->free.empty()) {
      buffer = std::move(store_->free.back());
      store_->free.pop_back();
    }
  }
  if (!buffer) buffer = std::make_unique<DeviceBuffer>(store_->size);
  buffer->begin_to_write(stream);
  return {buffer.release(), [store = store_](DeviceBuffer* used) {
            std::unique_ptr<DeviceBuffer> its(used);
            if (its->retired()) return;
            const std::lock_guard lock(store->mutex);
            store->free.push_back(std::move(its));
          }};
}

// The memory in between is kept by the thread, since allocating it takes longer than most copies.
void copy_to_host(Stream& stream, std::span<float> to, std::span<const float> from) {
  static thread_local std::optional<PinnedArray<float>> between;
  const bool direct = device_writes(to);
  if (!direct && (!between || between->size() < to.size())) between.emplace(to.size());
  stream.copy_array(direct ? to.data() : between->data(), from.data(), from.size());
  stream.synchronize();
  if (!direct) std::copy_n(between->data(), to.size(), to.data());
}

DeviceValues::OnHost CudaValues::on_host() const {
  const std::lock_guard lock(mutex_);
  if (!host_) {
    FlatPool::Part part;
    if (place_.pool) {
      part = place_.pool->take(place_.floats, place_.begin, values_.size(), place_.version);
    } else {
      const auto own = std::make_shared<FloatBuffer>(values_.size());
      part = {own, own->span()};
    }
    use_device(device_);
    Stream stream;
    copy_to_host(stream, part.values, begin_to_read(stream));
    host_ = std::move(part);
  }
  return {host_->values, host_->segment};
}

std::optional<bool> CudaValues::finite() const {
  const std::lock_guard lock(mutex_);
  if (!is_finite_ && finite_) is_finite_ = finite_();
  return is_finite_;
}

}  // namespace steelyard::nn::cuda
