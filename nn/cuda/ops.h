// The column `cuda` of the op table: each op on a CUDA device, in the order of samples. Every call adds work
// to the context's stream and returns; all pointers of Forward and Backward are of the device. Equal inputs
// give equal bits.
#pragma once

#include <memory>

#include "nn/cuda/context.h"
#include "nn/op.h"
#include "nn/ops.h"

namespace steelyard::nn::cuda {

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const MaxPool& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const AveragePool& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const GlobalAveragePool& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const ChannelShuffle& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const ChannelSlice& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Activation& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Dropout& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Linear& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const BatchNorm& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const LayerNorm& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const GroupNorm& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Add& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Scale& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Concat& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Embedding& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const PositionEmbedding& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const ClassToken& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const SelectToken& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Tokens& op, const OpPlace& place, const Context& context);
std::unique_ptr<Op> make(const Attention& op, const OpPlace& place, const Context& context);

// output = relu(batch_norm(x) + residual), or without one of them, as cpu::make_batch_norm (nn/cpu/fused.h).
std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail,
                                    const Context& context);

// Convolutions by kernels of our own: what this column has on the host executor, and what cuDNN is compared with
// on a device. Any kernel, stride, padding and groups; sums in float32 whatever the precision.
std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, const Context& context);

}  // namespace steelyard::nn::cuda
