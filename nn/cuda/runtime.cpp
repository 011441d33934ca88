// Common to both kinds of devices.
#include "nn/cuda/runtime.h"

#include <algorithm>
#include <string>
#include <utility>

#include "nn/cuda/products.h"
#include "nn/cuda_devices.h"

namespace steelyard::nn::cuda {

OutOfMemory::OutOfMemory(std::uint64_t bytes, std::uint64_t free)
    : Failure(ExitCode::configuration, "the device has no " + std::to_string(bytes / 1'000'000 + 1) +
                                           " MB more: " + std::to_string(free / 1'000'000) +
                                           " MB of its memory are free") {}
OutOfMemory::OutOfMemory(const std::string& message) : Failure(ExitCode::configuration, message) {}

Captured capture(Stream& stream, const std::function<void()>& add) {
  stream.begin_capture();
  try {
    add();
    return {stream.end_capture()};
  } catch (const OutOfMemory&) {
    stream.abandon_capture();
    throw;
  } catch (const Failure& failure) {
    stream.abandon_capture();
    return {nullptr, failure.what()};
  }
}

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

namespace steelyard::nn {
namespace {

using namespace cuda;

// Seconds of this many runs in a row, after one that wakes the device; the best of three.
template <class Work>
double seconds(Stream& stream, unsigned runs, Work work) {
  Event begin, end;
  work();
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    begin.record(stream);
    for (unsigned r = 0; r < runs; ++r) work();
    end.record(stream);
    stream.synchronize();
    best = std::min(best, Event::seconds(begin, end) / runs);
  }
  return best;
}

}  // namespace

// Neither buffers nor matrices fit into the cache of any card.
std::optional<DeviceSpeed> measure_cuda(unsigned device) {
  use_device(device);
  Stream stream;
  constexpr std::uint64_t bytes = 256 << 20;
  constexpr std::uint32_t side = 4096;
  const DeviceMemory from(bytes), to(bytes);
  stream.fill_zero(from.data(), bytes);
  const double copy = seconds(stream, 20, [&] { stream.copy(to.data(), from.data(), bytes); });
  const DeviceArray<float> a(side * side), b(side * side), c(side * side);
  stream.fill_zero(a.data(), side * side * sizeof(float));
  stream.fill_zero(b.data(), side * side * sizeof(float));
  Products products(stream, Precision::float32);
  const double product = seconds(stream, 5, [&] {
    products.multiply(
        {.rows = side, .columns = side, .inner = side, .a = a.data(), .b = b.data(), .c = c.data()});
  });
  return DeviceSpeed{2e-9 * bytes / copy, 2e-9 * side * side * side / product};
}

}  // namespace steelyard::nn
