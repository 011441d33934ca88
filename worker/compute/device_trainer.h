// DeviceTrainer: an engine that computes with parameters in the memory of its device and leaves the gradient
// there (Engine::device_trainer()), for a shard on the same device.
#pragma once

#include <steelyard/engine.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/device_values.h"
#include "core/flat_pool.h"
#include "core/layout.h"
#include "protocol/blob.h"

namespace steelyard {

class DeviceTrainer {
 public:
  struct Gradient {
    std::span<const Slice> slices;   // that divide it
    std::shared_ptr<FlatPool> host;  // for copies on the host, if one is requested
    // Receives the values of every slice, once the device has computed them. Called at most once, after the
    // last sample was read.
    std::function<void(std::vector<std::shared_ptr<const DeviceValues>>)> on_final;
  };

  virtual ~DeviceTrainer() = default;
  // Whether a part of these parameters is on this device.
  [[nodiscard]] virtual bool has_here(const Blob& parameters) const = 0;
  // As Engine::train(), for the same piece with the same bits.
  virtual nn::Sums train_there(const Blob& parameters, Samples& samples, const Gradient& gradient) = 0;
  // As Engine::evaluate().
  virtual nn::Sums evaluate_there(const Blob& parameters, Samples& samples) = 0;
};

}  // namespace steelyard
