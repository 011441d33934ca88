// Bound by memory; 16 bytes at once where both pictures allow it.
#include "nn/cuda/columns.h"

#include "nn/cuda/in_samples.h"

namespace steelyard::nn::cuda {
namespace {

template <unsigned n>
__global__ void copy(std::uint32_t all, std::uint64_t places, std::uint32_t count, const float* from,
                     std::uint32_t from_row, bool add, float* to, std::uint32_t to_row) {
  const unsigned i = n * thread_in_sample();
  if (i >= all) return;
  const unsigned place = i / count, column = i - place * count;
  const std::uint64_t row = blockIdx.y * places + place;
  store<n>(to + row * to_row + column, load<n>(from + row * from_row + column), add);
}

}  // namespace

void copy_columns(Stream& stream, const Columns& columns, const float* from, std::uint32_t from_row, bool add,
                  float* to, std::uint32_t to_row) {
  const std::uint64_t all = columns.places * columns.count;
  with_packs(can_pack(columns.count | from_row | to_row, from, to), [&](auto n) {
    launch_in_samples(stream, columns.samples, all / n, &copy<n>, all, columns.places, columns.count, from,
                      from_row, add, to, to_row);
  });
}

}  // namespace steelyard::nn::cuda
