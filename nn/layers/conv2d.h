// Conv2d: a convolution over pictures, written as cross-correlation (the convention of all trainers). For
// output channel o at (y, x), with stride t and padding p,
//
//  out[y][x][o] = b[o] + sum over r, s, i of w[o][r][s][i] * in[y t + r - p][x t + s - p][i]
//
// where places outside the picture count as zero. Weights are [out][row][column][in].
#pragma once

#include <memory>

#include "nn/layers/op.h"
#include "nn/model.h"

namespace steelyard::nn {

// Plain loops; samples in, samples out.
std::unique_ptr<Op> make_reference_conv2d(Shape input, Shape output, Conv2d options);

// Where the ReLU behind a convolution is computed: in an op of its own, in the convolution in both
// directions, or in the convolution forward and in the op behind it backward.
enum class FusedRelu : std::uint8_t { no, yes, forward_only };

// Our direct kernels; lanes in, lanes out. Best for few input channels; stride 1 and padding < kernel only.
std::unique_ptr<Op> make_direct_conv2d(Shape input, Shape output, Conv2d options, FusedRelu relu);

// oneDNN, channels last; samples in, samples out.
std::unique_ptr<Op> make_onednn_conv2d(Shape input, Shape output, Conv2d options);

}  // namespace steelyard::nn
