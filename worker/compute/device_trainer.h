// DeviceTrainer: an engine that computes with parameters in the memory of its device and leaves the gradient
// there (Engine::device_trainer()), for a shard on the same device.
#pragma once

#include <steelyard/engine.h>

#include "core/device_gradient.h"
#include "protocol/blob.h"

namespace steelyard {

class DeviceTrainer {
 public:
  virtual ~DeviceTrainer() = default;
  // Whether a part of these parameters is on this device.
  [[nodiscard]] virtual bool has_here(const Blob& parameters) const = 0;
  // As Engine::train(), for the same piece with the same bits. The gradient is handed over after the last
  // sample was read.
  virtual nn::Sums train_there(const Blob& parameters, Samples& samples, const DeviceGradient& gradient) = 0;
  // As Engine::evaluate().
  virtual nn::Sums evaluate_there(const Blob& parameters, Samples& samples) = 0;
};

}  // namespace steelyard
