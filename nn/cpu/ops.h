// The column `cpu` of the op table: each op as fast as it gets on one thread of a CPU.
#pragma once

#include <steelyard/layers.h>

#include <memory>

#include "nn/op.h"

namespace steelyard::nn::cpu {

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place);
std::unique_ptr<Op> make(const MaxPool& op, const OpPlace& place);
std::unique_ptr<Op> make(const AveragePool& op, const OpPlace& place);
std::unique_ptr<Op> make(const GlobalAveragePool& op, const OpPlace& place);
std::unique_ptr<Op> make(const ChannelShuffle& op, const OpPlace& place);
std::unique_ptr<Op> make(const ChannelSlice& op, const OpPlace& place);
std::unique_ptr<Op> make(const Activation& op, const OpPlace& place);
std::unique_ptr<Op> make(const Dropout& op, const OpPlace& place);
std::unique_ptr<Op> make(const Linear& op, const OpPlace& place);
std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place);
std::unique_ptr<Op> make(const BatchNorm& op, const OpPlace& place);
std::unique_ptr<Op> make(const LayerNorm& op, const OpPlace& place);
std::unique_ptr<Op> make(const GroupNorm& op, const OpPlace& place);
std::unique_ptr<Op> make(const Add& op, const OpPlace& place);
std::unique_ptr<Op> make(const Scale& op, const OpPlace& place);
std::unique_ptr<Op> make(const Concat& op, const OpPlace& place);
std::unique_ptr<Op> make(const Embedding& op, const OpPlace& place);
std::unique_ptr<Op> make(const PositionEmbedding& op, const OpPlace& place);
std::unique_ptr<Op> make(const ClassToken& op, const OpPlace& place);
std::unique_ptr<Op> make(const SelectToken& op, const OpPlace& place);
std::unique_ptr<Op> make(const Tokens& op, const OpPlace& place);
std::unique_ptr<Op> make(const Attention& op, const OpPlace& place);

}  // namespace steelyard::nn::cpu
