#include <algorithm>

#include "nn/cpu/ops.h"
#include "nn/cpu/row_sums.h"

namespace steelyard::nn::cpu {
namespace {

class ClassTokenOp final : public Op {
 public:
  explicit ClassTokenOp(const OpPlace& place)
      : features_(place.output.channels), in_(place.inputs[0].size()), out_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      float* rest = std::copy_n(call.parameters[0], features_, call.output + s * out_);
      std::copy_n(call.inputs[0] + s * in_, in_, rest);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    sum_rows({pass.batch.count, features_, out_}, call.d_output, call.add, call.d_parameters[0]);
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      const float* from = call.d_output + s * out_ + features_;
      float* to = d_input.to + s * in_;
      if (d_input.add) {
        add_row({1, in_, in_}, to, from, to);
      } else {
        std::copy_n(from, in_, to);
      }
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  std::uint64_t features_, in_, out_;  // of one token, and of a sample
};

}  // namespace

std::unique_ptr<Op> make(const ClassToken&, const OpPlace& place) {
  return std::make_unique<ClassTokenOp>(place);
}

}  // namespace steelyard::nn::cpu
