#include "core/check.h"
#include "nn/cpu/direct.h"

namespace steelyard::nn::direct {
namespace {

const ConvolutionTable& convolution_table(Level level) {
  switch (level) {
    case Level::v4:
      return v4::convolution;
    case Level::v3:
      return v3::convolution;
    case Level::baseline:
      break;
  }
  return baseline::convolution;
}

void check(const Convolution& c) {
  CHECK(c.lanes == 16 || c.lanes == 32, "direct kernels work on 16 or 32 lanes");
  CHECK(c.in > 0 && c.out > 0 && c.height > 0 && c.width > 0, "a convolution of nothing");
  CHECK(c.kernel > 0 && c.padding < c.kernel, "the padding of a convolution is less than its kernel");
  CHECK(c.height + 2 * c.padding >= c.kernel && c.width + 2 * c.padding >= c.kernel,
        "the kernel of a convolution is larger than its padded picture");
}

}  // namespace

void forward(const Convolution& shape, const float* input, const float* weights, const float* bias, bool relu,
             float* output, Level level) {
  check(shape);
  convolution_table(level).forward(shape, input, weights, bias, relu, output);
}

void backward_weights(const Convolution& shape, const float* input, const float* d_output, bool add,
                      float* d_weights, float* d_bias, Level level) {
  check(shape);
  convolution_table(level).backward_weights(shape, input, d_output, add, d_weights, d_bias);
}

void backward_data(const Convolution& shape, const float* d_output, const float* weights, float* d_input,
                   Level level) {
  check(shape);
  convolution_table(level).backward_data(shape, d_output, weights, d_input);
}

}  // namespace steelyard::nn::direct
