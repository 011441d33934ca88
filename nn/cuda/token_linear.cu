// The same linear layer for every token: three products over all tokens of the micro-batch.
#include "nn/cuda/column_sums.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

class TokenLinearOp final : public Op {
 public:
  TokenLinearOp(const TokenLinear& op, const OpPlace& place, const Context& context)
      : tokens_(place.output.height * place.output.width),
        inputs_(place.inputs[0].channels),
        outputs_(op.outputs),
        bias_(op.bias),
        workspace_(bias_ ? column_sums_workspace(std::uint64_t{tokens_} * place.micro_batch, outputs_) : 0),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    context_.products.multiply({.rows = pass.size() * tokens_,
                                .columns = outputs_,
                                .inner = inputs_,
                                .a = call.inputs[0],
                                .b = call.parameters[0],
                                .c = call.output,
                                .b_transposed = true,
                                .bias = bias_ ? call.parameters[1] : nullptr});
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint32_t rows = pass.size() * tokens_;
    context_.products.multiply({.rows = outputs_,
                                .columns = inputs_,
                                .inner = rows,
                                .a = call.d_output,
                                .b = call.inputs[0],
                                .c = call.d_parameters[0],
                                .a_transposed = true,
                                .add = call.add});
    if (bias_) {
      column_sums(context_.stream, call.d_output, rows, outputs_, call.add, call.d_parameters[1],
                  call.workspace);
    }
    if (call.d_inputs[0].to == nullptr) return;
    context_.products.multiply({.rows = rows,
                                .columns = inputs_,
                                .inner = outputs_,
                                .a = call.d_output,
                                .b = call.parameters[0],
                                .c = call.d_inputs[0].to,
                                .add = call.d_inputs[0].add});
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true, .workspace = workspace_}; }
  [[nodiscard]] std::string implementation() const override { return context_.products.implementation(); }

 private:
  std::uint32_t tokens_, inputs_, outputs_;
  bool bias_;
  std::uint64_t workspace_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place, const Context& context) {
  return std::make_unique<TokenLinearOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
