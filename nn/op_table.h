// The op table: for each op of STEELYARD_OPS (nn/ops.h) a row, for each backend a column, which is a
// namespace with one function make() for each op. The linker names those that a new op still lacks.
#pragma once

#include <steelyard/layers.h>

#include <memory>

#include "nn/op.h"

namespace steelyard::nn {

#define STEELYARD_MAKE(Kind, word) std::unique_ptr<Op> make(const Kind& op, const OpPlace& place);
#define STEELYARD_MAKE_HERE(Kind, word) \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place, const Context& context);
// Define the two, for an op whose class is made of the same arguments.
#define STEELYARD_OP(Kind, Class)                                  \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place) { \
    return std::make_unique<Class>(op, place);                     \
  }
#define STEELYARD_OP_HERE(Kind, Class)                                                     \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place, const Context& context) { \
    return std::make_unique<Class>(op, place, context);                                    \
  }

// Each op as plain loops with sums in double, in the order of samples. What the other columns are compared
// with.
namespace reference {
STEELYARD_OPS(STEELYARD_MAKE, STEELYARD_MAKE, STEELYARD_MAKE)

class ReferenceOp : public Op {
 public:
  [[nodiscard]] std::string implementation() const override { return "reference"; }
};
}  // namespace reference

// Each op as fast as it gets on one thread of a CPU.
namespace cpu {
STEELYARD_OPS(STEELYARD_MAKE, STEELYARD_MAKE, STEELYARD_MAKE)

// By kernels of our own.
class DirectOp : public Op {
 public:
  [[nodiscard]] std::string implementation() const override { return "direct"; }
};

// output = relu(batch_norm(x) + residual), or without one of them: several nodes of a graph in one sweep,
// which the planner puts in their place. Backward reads x, never the residual, and with a ReLU the output;
// the gradient of either input may be d_output's buffer. The two are different values: the residual's
// gradient is given first.
std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail);

// What else the planner puts in the place of a node, or between two, where that is faster.

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
}  // namespace cpu

// Each op on a CUDA device, in the order of samples. Every call adds work to the context's stream and
// returns; all pointers of Forward and Backward are of the device. Equal inputs give equal bits.
namespace cuda {
struct Context;  // nn/cuda/context.h
STEELYARD_OPS(STEELYARD_MAKE_HERE, STEELYARD_MAKE_HERE, STEELYARD_MAKE_HERE)

// As that of the CPU.
std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail,
                                    const Context& context);

// Convolutions by kernels of our own: what this column has on the host executor, and what cuDNN is compared
// with on a device. Any kernel, stride, padding and groups; sums in float32 whatever the precision.
std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, const Context& context);
}  // namespace cuda

#undef STEELYARD_MAKE
#undef STEELYARD_MAKE_HERE

}  // namespace steelyard::nn
