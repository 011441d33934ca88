// The op table: a row for each op of STEELYARD_OPS (include/steelyard/layers.h), a column for each backend: a
// namespace with one function make() per op. The linker reports the functions that a new op still lacks.
#pragma once

#include <steelyard/layers.h>

#include <memory>

#include "core/processor.h"
#include "nn/op.h"

namespace steelyard::nn {

#define STEELYARD_MAKE(Kind, word) std::unique_ptr<Op> make(const Kind& op, const OpPlace& place);
#define STEELYARD_MAKE_HERE(Kind, word) \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place, const Context& context);
// Define these two functions for an op class with a constructor that takes the same arguments.
#define STEELYARD_OP(Kind, Class)                                  \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place) { \
    return std::make_unique<Class>(op, place);                     \
  }
#define STEELYARD_OP_HERE(Kind, Class)                                                     \
  std::unique_ptr<Op> make(const Kind& op, const OpPlace& place, const Context& context) { \
    return std::make_unique<Class>(op, place, context);                                    \
  }

// Each op as plain loops with sums in double, in the order of samples: the reference for the other columns.
namespace reference {
STEELYARD_OPS(STEELYARD_MAKE, STEELYARD_MAKE, STEELYARD_MAKE)

class ReferenceOp : public Op {
 public:
  [[nodiscard]] std::string implementation() const override { return "reference"; }
};
}  // namespace reference

// Each op optimised for one thread of a CPU.
namespace cpu {
STEELYARD_OPS(STEELYARD_MAKE, STEELYARD_MAKE, STEELYARD_MAKE)

// Uses our own kernels.
class DirectOp : public Op {
 public:
  [[nodiscard]] std::string implementation() const override { return "direct"; }
};

// output = relu(batch_norm(x) + residual), or without one of them: several nodes of a graph in one sweep,
// inserted by the planner. Backward reads x, never the residual, and with a ReLU the output. The gradient of
// either input may be d_output's buffer. The two inputs are different values; the residual's gradient is
// computed first.
std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail);

// Other ops that the planner uses for a node, or between two, if that is faster.

// Whether the direct kernels can compute a convolution and are faster. With few input channels vectors over
// channels are mostly empty, so our direct kernels have the samples of a micro-batch in their lanes; with
// more channels, oneDNN's kernels are faster.
bool suits_direct(const Conv2d& op, Shape input);

// Where the ReLU behind a convolution is computed: in its own op, in the convolution in both directions, or
// forward in the convolution and backward in the next op.
enum class FusedRelu : std::uint8_t { no, yes, forward_only };

// Lanes in, lanes out.
std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, FusedRelu relu);

// In place.storage bf16: products of numbers as they are stored.
std::unique_ptr<Op> make_stored_token_linear(const TokenLinear& op, const OpPlace& place);

// Samples in, samples out.
std::unique_ptr<Op> make_onednn_conv2d(const Conv2d& op, const OpPlace& place);

// Whether Winograd's method can compute a convolution and is faster. Samples in, samples out; float32.
bool suits_winograd(const Conv2d& op, const OpPlace& place);
std::unique_ptr<Op> make_winograd_conv2d(const Conv2d& op, const OpPlace& place, Level level = cpu_level());

// In lanes. With `relu`, the input is the output of a ReLU, and its backward is done, too. Only for windows
// that do not overlap and have no padding.
std::unique_ptr<Op> make_max_pool(const MaxPool& op, const OpPlace& place, bool relu);

// Converts an activation from one order to the other; backward converts the gradient back. place.order is the
// output's.
std::unique_ptr<Op> make_transpose(const OpPlace& place);

// Casts an activation from the other storage to place.storage; backward casts the gradient back.
std::unique_ptr<Op> make_cast(const OpPlace& place);

// The op of a kind for activations in place.storage. bfloat16 needs stores_bf16() (nn/cpu/storage.h).
std::unique_ptr<Op> make_stored(const OpKind& kind, const OpPlace& place);
}  // namespace cpu

// Each op on a CUDA device, in the order of samples. Every call adds work to the context's stream and
// returns; all pointers of Forward and Backward are device pointers. Equal inputs give equal bits.
namespace cuda {
struct Context;  // nn/cuda/context.h
STEELYARD_OPS(STEELYARD_MAKE_HERE, STEELYARD_MAKE_HERE, STEELYARD_MAKE_HERE)

// Like cpu::make_batch_norm().
std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail,
                                    const Context& context);

// activation(x + bias), for a bias of one number a channel, its only parameter: what follows the product of a
// linear layer. Backward sums the gradient of the bias in the sweep that computes that of x.
std::unique_ptr<Op> make_biased_activation(const Activation& op, const OpPlace& place,
                                           const Context& context);

// Casts an activation from the other storage to place.storage; backward casts the gradient back.
std::unique_ptr<Op> make_cast(const OpPlace& place, const Context& context);

// Convolutions by our own kernels: this column's convolution on the host executor, and the reference for
// cuDNN on a device. Any kernel, stride, padding and groups; sums in float32 in every precision.
std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, const Context& context);
}  // namespace cuda

#undef STEELYARD_MAKE
#undef STEELYARD_MAKE_HERE

}  // namespace steelyard::nn
