// A linear layer is three products. Pictures lie pixel by pixel, the weights take them channel by channel:
// they are turned on the way.
#include "nn/cuda/column_sums.h"
#include "nn/cuda/ops.h"
#include "nn/cuda/turn.h"

namespace steelyard::nn::cuda {
namespace {

class LinearOp final : public Op {
 public:
  LinearOp(const Linear& op, const OpPlace& place, const Context& context)
      : in_(place.inputs[0]),
        inputs_(static_cast<std::uint32_t>(in_.size())),
        outputs_(op.outputs),
        bias_(op.bias),
        turned_(in_.channels > 1 && in_.height * in_.width > 1),
        workspace_(turned_ ? in_.size() * place.micro_batch : 0),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    const float* const x = by_channel(pass, call.inputs[0], call.workspace);
    context_.products.multiply({.rows = pass.size(),
                                .columns = outputs_,
                                .inner = inputs_,
                                .a = x,
                                .b = call.parameters[0],
                                .c = call.output,
                                .b_transposed = true,
                                .bias = bias_ ? call.parameters[1] : nullptr});
  }

  void backward(const Pass& pass, const Backward& call) override {
    const float* const x = by_channel(pass, call.inputs[0], call.workspace);
    context_.products.multiply({.rows = outputs_,
                                .columns = inputs_,
                                .inner = pass.size(),
                                .a = call.d_output,
                                .b = x,
                                .c = call.d_parameters[0],
                                .a_transposed = true,
                                .add = call.add});
    if (bias_) {
      column_sums(context_.stream, call.d_output, pass.size(), outputs_, call.add, call.d_parameters[1]);
    }
    if (call.d_inputs[0].to == nullptr) return;
    float* const d_x = turned_ ? call.workspace : call.d_inputs[0].to;
    context_.products.multiply({.rows = pass.size(),
                                .columns = inputs_,
                                .inner = outputs_,
                                .a = call.d_output,
                                .b = call.parameters[0],
                                .c = d_x});
    if (turned_) {
      turn(context_.stream, pass.size(), in_.channels, in_.height * in_.width, d_x, call.d_inputs[0].to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.workspace = workspace_}; }
  [[nodiscard]] std::string implementation() const override { return context_.products.implementation(); }

 private:
  const float* by_channel(const Pass& pass, const float* x, float* workspace) const {
    if (!turned_) return x;
    turn(context_.stream, pass.size(), in_.height * in_.width, in_.channels, x, workspace);
    return workspace;
  }

  Shape in_;
  std::uint32_t inputs_, outputs_;
  bool bias_, turned_;
  std::uint64_t workspace_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Linear& op, const OpPlace& place, const Context& context) {
  return std::make_unique<LinearOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
