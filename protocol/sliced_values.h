// SlicedValues: values of a whole model, slice by slice, some of them on a device. What computes there takes
// the slices; everything else reads one flat copy on the host.
#pragma once

#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "core/buffer.h"
#include "core/device_values.h"
#include "core/layout.h"
#include "protocol/blob.h"

namespace steelyard {

class SlicedValues final : public DeviceValues {
 public:
  using Parts = std::vector<std::pair<Slice, Blob>>;

  // `floats`: of the model, which the parts cover.
  SlicedValues(Parts parts, std::uint64_t floats) : parts_(std::move(parts)), floats_(floats) {}

  [[nodiscard]] const Parts& parts() const { return parts_; }
  [[nodiscard]] std::uint64_t size() const override { return floats_; }
  [[nodiscard]] OnHost on_host() const override;

 private:
  const Parts parts_;
  const std::uint64_t floats_;
  mutable std::mutex mutex_;  // protects host_
  mutable std::shared_ptr<const FloatBuffer> host_;
};

}  // namespace steelyard
