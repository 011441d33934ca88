#pragma once

#include <exception>

namespace steelyard::nn::cuda {

// Calls of a device whose errors do not matter, because memory is freed afterwards: if the device is lost, so
// is the work that would use it.
template <class Calls>
void unless_lost(Calls calls) noexcept {
  try {
    calls();
  } catch (const std::exception&) {
  }
}

}  // namespace steelyard::nn::cuda
