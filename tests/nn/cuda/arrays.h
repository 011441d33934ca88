// Copies of arrays to and from the device, for tests of single functions.
#pragma once

#include <vector>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda {

template <class T>
DeviceArray<T> to_device(Stream& stream, const std::vector<T>& values) {
  DeviceArray<T> device(values.size());
  PinnedArray<T> pinned(values.size());
  std::copy(values.begin(), values.end(), pinned.data());
  stream.copy_array(device.data(), pinned.data(), values.size());
  stream.synchronize();
  return device;
}

template <class T>
std::vector<T> to_host(Stream& stream, const DeviceArray<T>& device) {
  PinnedArray<T> pinned(device.size());
  stream.copy_array(pinned.data(), device.data(), device.size());
  stream.synchronize();
  return {pinned.data(), pinned.data() + device.size()};
}

}  // namespace steelyard::nn::cuda
