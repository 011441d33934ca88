#include "core/check.h"
#include "nn/cpu/direct.h"

namespace steelyard::nn::direct {
namespace {

const PoolTable& pool_table(Level level) {
  switch (level) {
    case Level::v4:
      return v4::pool;
    case Level::v3:
      return v3::pool;
    case Level::baseline:
      break;
  }
  return baseline::pool;
}

void check(const Pool& p) {
  CHECK(p.lanes == 16 || p.lanes == 32, "direct kernels work on 16 or 32 lanes");
  CHECK(p.size > 0 && p.size <= p.height && p.size <= p.width, "a pool's window is larger than the picture");
}

}  // namespace

void relu_backward(const float* output, float* gradient, std::size_t size, Level level) {
  CHECK(size % 16 == 0, "direct kernels work on 16 or 32 lanes");
  pool_table(level).relu_backward(output, gradient, size);
}

void max_pool_forward(const Pool& shape, const float* input, float* output, Level level) {
  check(shape);
  pool_table(level).max_forward(shape, input, output);
}

void max_pool_backward(const Pool& shape, const float* input, const float* d_output, bool relu,
                       float* d_input, Level level) {
  check(shape);
  pool_table(level).max_backward(shape, input, d_output, relu, d_input);
}

void average_pool_forward(const Pool& shape, const float* input, float* output, Level level) {
  check(shape);
  pool_table(level).average_forward(shape, input, output);
}

void average_pool_backward(const Pool& shape, const float* d_output, float* d_input, Level level) {
  check(shape);
  pool_table(level).average_backward(shape, d_output, d_input);
}

}  // namespace steelyard::nn::direct
