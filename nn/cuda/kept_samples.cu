#include "nn/cuda/kept_samples.h"

#include <algorithm>

#include "core/check.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

struct Pictures {
  int height, width, channels;
  unsigned floats;  // of a sample
  const std::uint8_t* codes;
  const float* table;
  const float* fill;
};

// A number of the window, at this place of the sample.
__device__ inline float shown(const Pictures& all, const KeptSample& kept, int y, int x, int channel) {
  const int row = y + kept.down, column = (kept.flipped ? all.width - 1 - x : x) + kept.right;
  if (row < 0 || row >= all.height || column < 0 || column >= all.width) return all.fill[channel];
  const std::uint64_t sample = static_cast<std::uint64_t>(kept.index) * all.floats;
  const int place = (row * all.width + column) * all.channels + channel;
  return all
      .table[codes_each * static_cast<unsigned>(channel) + all.codes[sample + static_cast<unsigned>(place)]];
}

template <unsigned n>
__global__ void show_windows(Pictures all, const KeptSample* kept, std::uint32_t count, float* inputs) {
  const unsigned first = n * thread_in_sample();
  if (first >= all.floats) return;
  Pack<n> numbers{};
  if (blockIdx.y < count) {
    const KeptSample its = kept[blockIdx.y];
    const auto pixel = static_cast<int>(first) / all.channels;
    int channel = static_cast<int>(first) % all.channels, x = pixel % all.width, y = pixel / all.width;
    for (unsigned i = 0; i < n; ++i) {
      numbers.x[i] = shown(all, its, y, x, channel);
      if (++channel < all.channels) continue;
      channel = 0;
      if (++x < all.width) continue;
      x = 0;
      ++y;
    }
  }
  store<n>(inputs + static_cast<std::uint64_t>(blockIdx.y) * all.floats + first, numbers);
}

template <class T>
void copy_and_wait(T* to, std::span<const T> from) {
  const PinnedArray<T> pinned(from.size());
  std::ranges::copy(from, pinned.data());
  Stream stream;
  stream.copy_array(to, pinned.data(), from.size());
  stream.synchronize();
}

}  // namespace

KeptSamples::KeptSamples(unsigned index, Shape shape, std::uint64_t samples)
    : shape_((use_device(index), shape)),
      samples_(samples),
      codes_(samples * shape.size()),
      table_(std::uint64_t{codes_each} * shape.channels),
      fill_(shape.channels) {
  CHECK(shape.size() <= INT32_MAX && samples <= UINT32_MAX, "samples are too large to be kept");
}

void KeptSamples::bring(std::uint64_t first, std::span<const std::uint8_t> codes) {
  CHECK(codes.size() % shape_.size() == 0 && first * shape_.size() + codes.size() <= codes_.size(),
        "samples are brought that are not kept");
  copy_and_wait(codes_.data() + first * shape_.size(), codes);
}

void KeptSamples::set_numbers(std::span<const float> table, std::span<const float> fill) {
  CHECK(table.size() == table_.size() && fill.size() == fill_.size(), "a channel has one table and fill");
  copy_and_wait(table_.data(), table);
  copy_and_wait(fill_.data(), fill);
}

void KeptSamples::show(Stream& stream, const KeptSample* kept, std::uint32_t size, std::uint32_t count,
                       float* inputs) const {
  const Pictures all{static_cast<int>(shape_.height),
                     static_cast<int>(shape_.width),
                     static_cast<int>(shape_.channels),
                     static_cast<unsigned>(shape_.size()),
                     codes_.data(),
                     table_.data(),
                     fill_.data()};
  with_packs(can_pack(shape_.size(), inputs), [&](auto n) {
    launch_in_samples(stream, size, shape_.size() / n, &show_windows<n>, all, kept, count, inputs);
  });
}

std::uint64_t KeptSamples::room_on(unsigned index, std::uint64_t reserved) {
  constexpr std::uint64_t share = 16;
  use_device(index);
  const std::uint64_t free = free_bytes();
  return free > reserved ? (free - reserved) / share : 0;
}

}  // namespace steelyard::nn::cuda
