// Where neither cuBLASLt nor cuDNN adds the bias itself.
#include "nn/cuda/add_bias.h"

#include "nn/cuda/kernel.h"

namespace steelyard::nn::cuda {
namespace {

__global__ void add(const float* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
                    float* to) {
  const std::uint64_t i = thread_number(), r = i / columns, c = i % columns;
  if (r < rows) to[r * row + c] += bias[c];
}

}  // namespace

void add_bias(Stream& stream, const float* bias, std::uint64_t rows, std::uint32_t columns, std::uint32_t row,
              float* to) {
  launch(stream, groups_of(rows * columns, 256), 256, &add, bias, rows, columns, row, to);
}

}  // namespace steelyard::nn::cuda
