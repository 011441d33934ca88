#include <algorithm>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class AddOp final : public Op {
 public:
  explicit AddOp(std::uint64_t features) : features_(features) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < features_ * pass.size(); ++i) {
      call.output[i] = call.inputs[0][i] + call.inputs[1][i];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (const InputGradient& d_input : call.d_inputs) {
      if (d_input.to != nullptr) std::copy_n(call.d_output, features_ * pass.size(), d_input.to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  std::uint64_t features_;
};

}  // namespace

std::unique_ptr<Op> make(const Add& /*op*/, const OpPlace& place) {
  return std::make_unique<AddOp>(place.output.size());
}

}  // namespace steelyard::nn::reference
