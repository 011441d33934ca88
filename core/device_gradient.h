// How an engine hands over a gradient that stays in the memory of its device.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/device_values.h"
#include "core/flat_pool.h"
#include "core/layout.h"

namespace steelyard {

struct DeviceGradient {
  std::span<const Slice> slices;   // that divide it
  std::shared_ptr<FlatPool> host;  // for copies on the host, if one is requested; null: private memory
  // Receives the values of every slice, once the device has computed them. Called at most once.
  std::function<void(std::vector<std::shared_ptr<const DeviceValues>>)> on_final;
};

}  // namespace steelyard
