#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class GlobalAveragePoolOp final : public Op {
 public:
  explicit GlobalAveragePoolOp(Shape in)
      : pixels_(std::uint64_t{in.height} * in.width), channels_(in.channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      for (std::uint64_t c = 0; c < channels_; ++c) {
        double sum = 0;
        for (std::uint64_t p = 0; p < pixels_; ++p) sum += call.inputs[0][(s * pixels_ + p) * channels_ + c];
        call.output[s * channels_ + c] = static_cast<float>(sum / static_cast<double>(pixels_));
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    for (std::uint64_t i = 0; i < pass.size() * pixels_ * channels_; ++i) {
      const std::uint64_t sample = i / (pixels_ * channels_), channel = i % channels_;
      call.d_inputs[0].to[i] =
          static_cast<float>(call.d_output[sample * channels_ + channel] / static_cast<double>(pixels_));
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  std::uint64_t pixels_, channels_;
};

}  // namespace

std::unique_ptr<Op> make(const GlobalAveragePool& /*op*/, const OpPlace& place) {
  return std::make_unique<GlobalAveragePoolOp>(place.inputs[0]);
}

}  // namespace steelyard::nn::reference
