#include <algorithm>

#include "nn/cpu/onednn.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/row_sums.h"

namespace steelyard::nn::cpu {
namespace {

// One product over the tokens of all real samples.
class TokenLinearOp final : public Op {
 public:
  TokenLinearOp(const TokenLinear& op, const OpPlace& place)
      : tokens_(std::uint64_t{place.output.height} * place.output.width),
        inputs_(place.inputs[0].channels),
        outputs_(op.outputs),
        bias_(op.bias),
        products_(place.precision) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t rows = pass.batch.count * tokens_, all = pass.size() * tokens_;
    products_.multiply({rows, outputs_, inputs_}, {call.inputs[0], inputs_},
                       {call.parameters[0], inputs_, onednn::Turn::yes}, false, call.output, outputs_);
    if (bias_) add_row({rows, outputs_, outputs_}, call.output, call.parameters[1], call.output);
    std::fill_n(call.output + rows * outputs_, (all - rows) * outputs_, 0.0F);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t rows = pass.batch.count * tokens_, all = pass.size() * tokens_;
    products_.multiply({outputs_, inputs_, rows}, {call.d_output, outputs_, onednn::Turn::yes},
                       {call.inputs[0], inputs_}, call.add, call.d_parameters[0], inputs_);
    if (bias_) sum_rows({rows, outputs_, outputs_}, call.d_output, call.add, call.d_parameters[1]);
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    products_.multiply({rows, inputs_, outputs_}, {call.d_output, outputs_}, {call.parameters[0], inputs_},
                       d_input.add, d_input.to, inputs_);
    if (!d_input.add) std::fill_n(d_input.to + rows * inputs_, (all - rows) * inputs_, 0.0F);
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override { return products_.bytes(); }
  [[nodiscard]] std::string implementation() const override { return products_.implementation(); }

 private:
  std::uint64_t tokens_, inputs_, outputs_;
  bool bias_;
  onednn::Products products_;
};

}  // namespace

std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place) {
  return std::make_unique<TokenLinearOp>(op, place);
}

}  // namespace steelyard::nn::cpu
