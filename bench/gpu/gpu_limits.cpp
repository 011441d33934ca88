#include "bench/gpu/gpu_limits.h"

#include "bench/gpu/timing.h"
#include "core/random.h"
#include "nn/cuda/products.h"

namespace steelyard::bench {

using namespace nn::cuda;

double copied_bytes_per_second() {
  const std::uint64_t bytes = measures() ? 1 << 30 : 1 << 16;
  Stream stream;
  const DeviceMemory from(bytes), to(bytes);
  stream.fill_zero(from.data(), bytes);
  return 2 * static_cast<double>(bytes) /
         median_seconds(stream, [&] { stream.copy(to.data(), from.data(), bytes); });
}

// The factors are random, because a GPU multiplies zeros with less power and so at a higher clock.
double multiplied_flops_per_second(Precision precision) {
  const std::uint32_t side = measures() ? 8192 : 32;
  const std::uint64_t size = std::uint64_t{side} * side;
  Stream stream;
  const DeviceArray<float> a(size), b(size), c(size);
  const PinnedArray<float> drawn(size);
  Random random(1);
  for (std::uint64_t i = 0; i < size; ++i) drawn.data()[i] = static_cast<float>(2 * random.uniform() - 1);
  stream.copy_array(a.data(), drawn.data(), size);
  stream.copy_array(b.data(), drawn.data(), size);
  stream.synchronize();
  Products products(stream, precision);
  const double taken = median_seconds(stream, [&] {
    products.multiply(
        {.rows = side, .columns = side, .inner = side, .a = a.data(), .b = b.data(), .c = c.data()});
  });
  return 2.0 * side * static_cast<double>(size) / taken;
}

}  // namespace steelyard::bench
