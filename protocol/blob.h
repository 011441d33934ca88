// Blob: immutable bytes with shared ownership. Copying a blob copies a pointer, and the bytes live as long as
// any blob of them. So senders cannot change sent bytes, and received bytes are not copied. A blob also has a
// pointer to its shared-memory segment, if any, so that another process can read the bytes there.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/segment.h"

namespace steelyard {

class Blob {
 public:
  Blob() = default;
  // A view of `bytes`, which `owner` keeps alive. The caller must not write to them any more.
  Blob(std::shared_ptr<const void> owner, std::span<const std::byte> bytes, const Segment* segment = nullptr)
      : owner_(std::move(owner)), bytes_(bytes), segment_(segment) {}

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

  [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
  [[nodiscard]] std::size_t size() const { return bytes_.size(); }
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  [[nodiscard]] const std::shared_ptr<const void>& owner() const { return owner_; }
  [[nodiscard]] const Segment* segment() const { return segment_; }  // null: not in shared memory

  // The bytes as floats. Requires a size and an address that are multiples of four (see `holds_floats`).
  [[nodiscard]] std::span<const float> floats() const {
    return {reinterpret_cast<const float*>(bytes_.data()), bytes_.size() / sizeof(float)};
  }
  [[nodiscard]] bool holds_floats(std::size_t count) const {
    return bytes_.size() == count * sizeof(float) &&
           reinterpret_cast<std::uintptr_t>(bytes_.data()) % alignof(float) == 0;
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
};

}  // namespace steelyard
