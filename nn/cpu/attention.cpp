#include "nn/cpu/kernel_calls.h"

#include <algorithm>
#include <cmath>

#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

// Keeps nothing: recomputing the probabilities costs one product of six, and saves memory that would grow
// with the square of the tokens times heads and samples.
class AttentionOp final : public DirectOp {
 public:
  AttentionOp(const Attention& op, const OpPlace& place)
      : in_(place.inputs[0].size()),
        out_(place.output.size()),
        shape_{place.output.width, op.heads, place.output.channels / op.heads, op.causal, 0} {
    shape_.scale = 1 / std::sqrt(static_cast<float>(shape_.length));
  }

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.batch.count; ++s) {
      attention_kernels().forward(shape_, call.inputs[0] + s * in_, call.output + s * out_, call.workspace);
    }
    std::fill(call.output + pass.batch.count * out_, call.output + pass.size() * out_, 0.0F);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::uint64_t s = 0; s < pass.batch.count; ++s) {
      attention_kernels().backward(shape_, call.inputs[0] + s * in_, call.d_output + s * out_, d_input.add,
                                   d_input.to + s * in_, call.workspace);
    }
    if (d_input.add) return;
    std::fill(d_input.to + pass.batch.count * in_, d_input.to + pass.size() * in_, 0.0F);
  }

  [[nodiscard]] Traits traits() const override {
    return {.adds = true, .workspace = attention_scratch(shape_)};
  }

 private:
  std::uint64_t in_, out_;
  AttentionShape shape_;
};

}  // namespace

STEELYARD_OP(Attention, AttentionOp)

}  // namespace steelyard::nn::cpu
