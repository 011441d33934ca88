// DeviceValues: immutable floats in the memory of a device: a slice of a version or of a gradient. Only what
// belongs to the device (nn/cuda/device_values.h) can use them there; everything else reads a copy on the
// host, which is made at the first request.
//
// Shared by pointer. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/segment.h"

namespace steelyard {

class DeviceValues {
 public:
  struct OnHost {
    std::span<const float> values;
    const Segment* segment = nullptr;  // contains them; null: private memory
  };

  virtual ~DeviceValues() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;  // floats
  // The copy on the host, valid as long as this object. The first call waits for the device. Throws Failure
  // if the device fails.
  [[nodiscard]] virtual OnHost on_host() const = 0;
};

// Floats on the host or on a device: exactly one of both is set, unless they are empty. The caller keeps
// floats of the host alive.
struct SliceValues {
  std::span<const float> host{};
  std::shared_ptr<const DeviceValues> device{};

  [[nodiscard]] std::span<const float> on_host() const { return device ? device->on_host().values : host; }
};

}  // namespace steelyard
