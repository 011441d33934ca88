// Values that processes of one host lend each other in the memory of CUDA devices (core/device_exchange.h).
#pragma once

#include <memory>

#include "core/device_exchange.h"

namespace steelyard::nn::cuda {

// For device `index`. From now on this process makes memory that others can open. Throws Failure
// (configuration) if the device does not exist.
[[nodiscard]] std::shared_ptr<DeviceExchange> exchange_on(unsigned index);

}  // namespace steelyard::nn::cuda
