#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class BatchNormOp final : public Op {
 public:
  BatchNormOp(const BatchNorm& op, Shape shape)
      : op_(op),
        pixels_(std::uint64_t{shape.height} * shape.width),
        channels_(shape.channels),
        mean_(channels_),
        variance_(channels_) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t c = 0; c < channels_; ++c) {
      if (pass.training) {
        measure(pass, call.inputs[0], c);
      } else {
        mean_[c] = call.parameters[2][c];
        variance_[c] = call.parameters[3][c];
      }
      const double deviation = std::sqrt(variance_[c] + op_.epsilon);
      for (std::uint64_t p = 0; p < pass.size() * pixels_; ++p) {
        const std::uint64_t at = p * channels_ + c;
        call.output[at] = static_cast<float>(
            (call.inputs[0][at] - mean_[c]) / deviation * call.parameters[0][c] + call.parameters[1][c]);
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t places = pass.batch.count * pixels_;
    for (std::uint64_t c = 0; c < channels_; ++c) {
      const double deviation = std::sqrt(variance_[c] + op_.epsilon);
      double d_weight = 0, d_bias = 0;
      const auto normal = [&](std::uint64_t at) { return (call.inputs[0][at] - mean_[c]) / deviation; };
      for (std::uint64_t p = 0; p < places; ++p) {
        const std::uint64_t at = p * channels_ + c;
        d_weight += call.d_output[at] * normal(at);
        d_bias += call.d_output[at];
      }
      const auto n = static_cast<double>(std::max<std::uint64_t>(places, 1));
      for (std::uint64_t p = 0; p < pass.size() * pixels_ && call.d_inputs[0].to != nullptr; ++p) {
        const std::uint64_t at = p * channels_ + c;
        const double d_normal = call.d_output[at] - d_bias / n - normal(at) * d_weight / n;
        call.d_inputs[0].to[at] =
            p < places ? static_cast<float>(d_normal * call.parameters[0][c] / deviation) : 0;
      }
      const double unbiased = places > 1 ? variance_[c] * n / (n - 1) : variance_[c];
      const double gradients[] = {d_weight, d_bias, mean_[c] * pass.batch.count, unbiased * pass.batch.count};
      for (std::size_t i = 0; i < 4; ++i) {
        float& to = call.d_parameters[i][c];
        to = static_cast<float>(call.add ? to + gradients[i] : gradients[i]);
      }
    }
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 2 * channels_ * sizeof(double); }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  void measure(const Pass& pass, const float* x, std::uint64_t c) {
    const std::uint64_t places = pass.batch.count * pixels_;
    double sum = 0, squares = 0;
    for (std::uint64_t p = 0; p < places; ++p) sum += x[p * channels_ + c];
    mean_[c] = sum / static_cast<double>(std::max<std::uint64_t>(places, 1));
    for (std::uint64_t p = 0; p < places; ++p) {
      const double centred = x[p * channels_ + c] - mean_[c];
      squares += centred * centred;
    }
    variance_[c] = squares / static_cast<double>(std::max<std::uint64_t>(places, 1));
  }

  BatchNorm op_;
  std::uint64_t pixels_, channels_;
  std::vector<double> mean_, variance_;  // of the batch, from forward to backward
};

}  // namespace

std::unique_ptr<Op> make(const BatchNorm& op, const OpPlace& place) {
  return std::make_unique<BatchNormOp>(op, place.output);
}

}  // namespace steelyard::nn::reference
