#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class ScaleOp final : public Op {
 public:
  explicit ScaleOp(Shape shape)
      : pixels_(std::uint64_t{shape.height} * shape.width), channels_(shape.channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * pixels_ * channels_; ++i) {
      call.output[i] = call.inputs[0][i] * call.inputs[1][factor_of(i)];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    float *const d_a = call.d_inputs[0].to, *const d_factors = call.d_inputs[1].to;
    for (std::uint64_t i = 0; i < pass.size() * pixels_ * channels_ && d_a != nullptr; ++i) {
      d_a[i] = call.d_output[i] * call.inputs[1][factor_of(i)];
    }
    for (std::uint64_t f = 0; f < pass.size() * channels_ && d_factors != nullptr; ++f) {
      const std::uint64_t first = f / channels_ * pixels_ * channels_ + f % channels_;
      double sum = 0;
      for (std::uint64_t p = 0; p < pixels_; ++p) {
        sum += double{call.d_output[first + p * channels_]} * call.inputs[0][first + p * channels_];
      }
      d_factors[f] = static_cast<float>(sum);
    }
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  [[nodiscard]] std::uint64_t factor_of(std::uint64_t i) const {
    return i / (pixels_ * channels_) * channels_ + i % channels_;
  }

  std::uint64_t pixels_, channels_;
};

}  // namespace

std::unique_ptr<Op> make(const Scale& /*op*/, const OpPlace& place) {
  return std::make_unique<ScaleOp>(place.output);
}

}  // namespace steelyard::nn::reference
