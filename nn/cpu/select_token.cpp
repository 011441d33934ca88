#include <algorithm>

#include "nn/cpu/ops.h"
#include "nn/cpu/row_sums.h"

namespace steelyard::nn::cpu {
namespace {

class SelectTokenOp final : public Op {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place)
      : features_(place.output.channels), in_(place.inputs[0].size()), begin_(op.token * features_) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      std::copy_n(call.inputs[0] + s * in_ + begin_, features_, call.output + s * features_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    if (!d_input.add) std::fill_n(d_input.to, pass.size() * in_, 0.0F);
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      float* to = d_input.to + s * in_ + begin_;
      add_row({1, features_, features_}, to, call.d_output + s * features_, to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  std::uint64_t features_, in_, begin_;
};

}  // namespace

std::unique_ptr<Op> make(const SelectToken& op, const OpPlace& place) {
  return std::make_unique<SelectTokenOp>(op, place);
}

}  // namespace steelyard::nn::cpu
