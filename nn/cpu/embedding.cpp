#include <algorithm>

#include "nn/cpu/ops.h"
#include "nn/cpu/row_sums.h"

namespace steelyard::nn::cpu {
namespace {

class EmbeddingOp final : public Op {
 public:
  EmbeddingOp(const Embedding& op, const OpPlace& place)
      : tokens_(place.output.width), rows_(op.rows), features_(op.features) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t t = 0; t < pass.size() * tokens_; ++t) {
      std::copy_n(call.parameters[0] + row(call.inputs[0][t]), features_, call.output + t * features_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    float* d_weight = call.d_parameters[0];
    if (!call.add) std::fill_n(d_weight, rows_ * features_, 0.0F);
    for (std::uint64_t t = 0; t < pass.batch.count * tokens_; ++t) {
      float* to = d_weight + row(call.inputs[0][t]);
      add_row({1, features_, features_}, to, call.d_output + t * features_, to);
    }
    // Numbers of rows have no slope.
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to != nullptr && !d_input.add) std::fill_n(d_input.to, pass.size() * tokens_, 0.0F);
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  // Where the row of this number begins.
  [[nodiscard]] std::uint64_t row(float number) const {
    const bool is_row = number >= 0 && number < static_cast<float>(rows_);
    return (is_row ? static_cast<std::uint64_t>(number) : 0) * features_;
  }

  std::uint64_t tokens_, rows_, features_;
};

}  // namespace

std::unique_ptr<Op> make(const Embedding& op, const OpPlace& place) {
  return std::make_unique<EmbeddingOp>(op, place);
}

}  // namespace steelyard::nn::cpu
