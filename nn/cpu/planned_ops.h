// Ops of the CPU beside the table (nn/op_table.h): what the planner puts in the place of a node, or between
// two, where that is faster.
#pragma once

#include <steelyard/layers.h>

#include <memory>

#include "nn/op.h"

namespace steelyard::nn::cpu {

// Whether the direct kernels can compute a convolution and are faster. With few input channels a vector over
// channels stays empty, so our direct kernels have the samples of a micro-batch in their lanes; with more,
// oneDNN's kernels over channels are faster.
bool suits_direct(const Conv2d& op, Shape input);

// Where the ReLU behind a convolution is computed: in an op of its own, in the convolution in both
// directions, or in the convolution forward and in the op behind it backward.
enum class FusedRelu : std::uint8_t { no, yes, forward_only };

// Lanes in, lanes out.
std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, FusedRelu relu);

// Samples in, samples out.
std::unique_ptr<Op> make_onednn_conv2d(const Conv2d& op, const OpPlace& place);

// In lanes. With `relu`, the input is the output of a ReLU whose backward is done too. Windows that do not
// overlap and have no padding, only.
std::unique_ptr<Op> make_max_pool(const MaxPool& op, const OpPlace& place, bool relu);

// From one order of an activation to the other; backward turns the gradient back. place.order is that of the
// output.
std::unique_ptr<Op> make_transpose(const OpPlace& place);

}  // namespace steelyard::nn::cpu
