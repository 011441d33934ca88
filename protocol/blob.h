// Blob: immutable bytes with shared ownership. Copying a blob copies a pointer, and the bytes live as long as
// any blob of them. So senders cannot change sent bytes, and received bytes are not copied. A blob also has a
// pointer to its shared-memory segment, if any, so that another process can read the bytes there.
//
// The bytes may be floats on a device. They are copied to the host when a caller first asks for the bytes;
// size and device need no copy.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/device_values.h"
#include "core/segment.h"

namespace steelyard {

class Blob {
 public:
  Blob() = default;
  // A view of `bytes`, which `owner` keeps alive. The caller must not write to them any more.
  Blob(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, const Segment* segment = nullptr)
      : owner_(std::move(owner)), bytes_(bytes), segment_(segment) {}

  explicit Blob(std::shared_ptr<const DeviceValues> values) : device_(std::move(values)) {}

  static Blob copy_of(std::span<const float> values) {
    auto owned = std::make_shared<std::vector<float>>(values.begin(), values.end());
    const std::span<const float> view(*owned);
    return {std::move(owned), std::as_bytes(view)};
  }
  // Bytes just received by a transport, in memory without other references: the last blob that refers to them
  // may overwrite them.
  static Blob received(std::shared_ptr<const void> owner, std::span<std::byte> bytes) {
    Blob blob(std::move(owner), bytes);
    blob.received_ = bytes;
    return blob;
  }
  template <class Owner>
  static Blob of_floats(std::shared_ptr<Owner> owner, std::span<const float> values) {
    const Segment* segment = nullptr;
    if constexpr (requires { owner->segment(); }) segment = owner->segment();
    return {std::move(owner), std::as_bytes(values), segment};
  }

  [[nodiscard]] std::span<const std::byte> bytes() const {
    return device_ ? std::as_bytes(device_->on_host().values) : bytes_;
  }
  [[nodiscard]] std::size_t size() const { return device_ ? device_->size() * sizeof(float) : bytes_.size(); }
  [[nodiscard]] bool empty() const { return size() == 0; }
  // Keeps the bytes alive. Null if they are on a device: keep the blob.
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
  // Null: not in shared memory.
  [[nodiscard]] const Segment* segment() const { return device_ ? device_->on_host().segment : segment_; }
  [[nodiscard]] const std::shared_ptr<const DeviceValues>& device() const { return device_; }  // null: host

  // The bytes as floats. Requires a size and an address that are multiples of four (see `holds_floats`).
  [[nodiscard]] std::span<const float> floats() const {
    if (device_) return device_->on_host().values;
    return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
  }
  // The same, without a copy to the host.
  [[nodiscard]] SliceValues values() const {
    if (device_) return {{}, device_};
    return {floats(), nullptr};
  }
  [[nodiscard]] bool holds_floats(std::size_t count) const {
    return size() == count * sizeof(float) &&
           (device_ || reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(float) == 0);
  }
  // The floats, for overwriting, if the bytes were received and no other blob refers to them. Empty
  // otherwise.
  [[nodiscard]] std::span<float> floats_to_write_over() const {
    if (owner_.use_count() != 1) return {};
    return {reinterpret_cast<float*>(received_.data()), received_.size() / sizeof(float)};
  }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const std::byte> bytes_;
  std::span<std::byte> received_;  // the same bytes if received; otherwise empty
  const Segment* segment_ = nullptr;
  std::shared_ptr<const DeviceValues> device_;  // null: the bytes are above
};

}  // namespace steelyard
