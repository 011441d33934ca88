#include <algorithm>
#include <vector>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class EmbeddingOp final : public Op {
 public:
  EmbeddingOp(const Embedding& op, const OpPlace& place)
      : tokens_(place.output.width), rows_(op.rows), features_(op.features) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t t = 0; t < pass.size() * tokens_; ++t) {
      for (std::uint64_t f = 0; f < features_; ++f) {
        call.output[t * features_ + f] = call.parameters[0][row(call.inputs[0][t]) * features_ + f];
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::vector<double> sums(rows_ * features_);
    if (call.add) std::copy_n(call.d_parameters[0], sums.size(), sums.begin());
    for (std::uint64_t t = 0; t < pass.size() * tokens_; ++t) {
      for (std::uint64_t f = 0; f < features_; ++f) {
        sums[row(call.inputs[0][t]) * features_ + f] += call.d_output[t * features_ + f];
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) call.d_parameters[0][i] = static_cast<float>(sums[i]);
    if (call.d_inputs[0].to != nullptr) std::fill_n(call.d_inputs[0].to, pass.size() * tokens_, 0.0F);
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  [[nodiscard]] std::uint64_t row(float number) const {
    return number >= 0 && number < static_cast<float>(rows_) ? static_cast<std::uint64_t>(number) : 0;
  }

  std::uint64_t tokens_, rows_, features_;
};

}  // namespace

std::unique_ptr<Op> make(const Embedding& op, const OpPlace& place) {
  return std::make_unique<EmbeddingOp>(op, place);
}

}  // namespace steelyard::nn::reference
