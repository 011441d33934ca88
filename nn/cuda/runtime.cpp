// What is the same on both kinds of devices.
#include "nn/cuda/runtime.h"

#include <string>
#include <utility>

namespace steelyard::nn::cuda {

OutOfMemory::OutOfMemory(std::uint64_t bytes, std::uint64_t free)
    : Failure(ExitCode::configuration, "the device has no " + std::to_string(bytes / 1'000'000 + 1) +
                                           " MB more: " + std::to_string(free / 1'000'000) +
                                           " MB of its memory are free") {}

DeviceMemory::DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

PinnedMemory::PinnedMemory(PinnedMemory&& other) noexcept { *this = std::move(other); }
PinnedMemory& PinnedMemory::operator=(PinnedMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace steelyard::nn::cuda
