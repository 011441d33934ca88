// Direct kernels for pictures with few channels, with the samples of a micro-batch in the lanes of the
// vectors.
//
// Layout of every buffer here ("lanes"): [channel][row][column][sample], samples contiguous, 16 or 32 of
// them. A smaller micro-batch is padded: its missing samples are zero in the inputs and must have zero
// gradients. With few channels this keeps all lanes busy, while a channels-last convolution leaves most of
// them empty. The neighbour in a row is one vector further, so nothing is shuffled or gathered.
//
// Weights are [out][row][column][in], as in the channels-last layers. Everything runs on the calling thread,
// keeps no state and allocates nothing: any number of threads may call at once. Buffers may have any
// alignment; 64 bytes is fastest. Unless said otherwise no output may overlap an input.
//
// `level` is for tests and comparisons: results differ in rounding between levels, never within one.
#pragma once

#include <steelyard/shape.h>

#include <cstddef>
#include <cstdint>

#include "core/processor.h"
#include "nn/cpu/kernels.h"

namespace steelyard::nn::direct {

// Convolution, as cross-correlation (the usual convention). For all o, y, x and each sample:
//   output[o][y][x] = bias[o] + sum over i, r, s of weights[o][r][s][i] * input[i][y + r - p][x + s - p]
// where p is the padding, and places outside the picture count as zero; with `relu`, negative outputs become
// zero (and NaN stays NaN). `bias` may be null.
void forward(const Convolution& shape, const float* input, const float* weights, const float* bias, bool relu,
             float* output, Level level = cpu_level());

// The derivatives by weights and bias, summed over all samples; written, or added with `add`. `d_bias` may be
// null.
void backward_weights(const Convolution& shape, const float* input, const float* d_output, bool add,
                      float* d_weights, float* d_bias, Level level = cpu_level());

// The derivative by the input; written.
void backward_data(const Convolution& shape, const float* d_output, const float* weights, float* d_input,
                   Level level = cpu_level());

// Sets the gradient to zero where a ReLU's output is zero; in place. `size` counts floats, lanes included,
// and is a multiple of 16.
void relu_backward(const float* output, float* gradient, std::size_t size, Level level = cpu_level());

// The maximum of each window. Backward finds it again in the input, which is cheaper than storing it; among
// equal values the first in reading order gets the gradient. With `relu`, the input is the output of a ReLU,
// and its backward is done in the same sweep. d_input is written completely, with zeros where no gradient
// arrives.
void max_pool_forward(const Pool& shape, const float* input, float* output, Level level = cpu_level());
void max_pool_backward(const Pool& shape, const float* input, const float* d_output, bool relu,
                       float* d_input, Level level = cpu_level());

// The mean of each window; backward divides the gradient equally. d_input is written completely.
void average_pool_forward(const Pool& shape, const float* input, float* output, Level level = cpu_level());
void average_pool_backward(const Pool& shape, const float* d_output, float* d_input,
                           Level level = cpu_level());

// Converts `count` samples of the given shape, contiguous and channels last, to lanes (the other lanes are
// zero); and back, writing only `count` samples. count <= lanes, which are any multiple of 16 here.
void to_lanes(Shape shape, std::uint32_t lanes, std::uint32_t count, const float* samples, float* picture,
              Level level = cpu_level());
void from_lanes(Shape shape, std::uint32_t lanes, std::uint32_t count, const float* picture, float* samples,
                Level level = cpu_level());

}  // namespace steelyard::nn::direct
