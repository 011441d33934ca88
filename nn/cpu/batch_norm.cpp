// Batch norm in two sweeps forward (statistics, and the output with its tail) and two backward (the gradient
// behind the tail with its sums, and the gradient of the input). With g the gradient behind the tail, n
// places and r = 1 / sqrt(variance + epsilon):
//   d_bias = sum g,  d_weight = r sum g (x - mean)
//   d_x = weight r (g - d_bias / n - (x - mean) r d_weight / n)
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "nn/cpu/columns.h"
#include "nn/cpu/fused.h"
#include "nn/cpu/ops.h"

namespace steelyard::nn::cpu {
namespace {

enum : std::size_t { weight, bias, running_mean, running_var };  // the parameters

class BatchNormOp final : public Op {
 public:
  BatchNormOp(const BatchNorm& op, Shape shape, FusedTail tail)
      : epsilon_(op.epsilon),
        tail_(tail),
        pixels_(std::size_t{shape.height} * shape.width),
        channels_(shape.channels),
        columns_(channels_),
        variance_(channels_) {
    for (auto* const each : {&mean_, &reciprocal_, &scale_, &bias_, &by_x_, &constant_}) {
      each->resize(columns_.width());
    }
  }

  void forward(const Pass& pass, const Forward& call) override {
    if (pass.training) {
      measure(pass, call.inputs[0]);
    } else {
      std::copy_n(call.parameters[running_mean], channels_, mean_.begin());
      std::copy_n(call.parameters[running_var], channels_, variance_.begin());
    }
    for (std::size_t c = 0; c < channels_; ++c) {
      reciprocal_[c] = static_cast<float>(1 / std::sqrt(variance_[c] + epsilon_));
      scale_[c] = reciprocal_[c] * call.parameters[weight][c];
      bias_[c] = call.parameters[bias][c];
    }
    for (auto* const each : {&mean_, &scale_, &bias_}) columns_.repeat(*each);
    columns_.normalize(pass.size() * pixels_, call.inputs[0], mean_.data(), scale_.data(), bias_.data(),
                       tail_.add ? call.inputs[1] : nullptr, tail_.relu, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::size_t rows = pass.batch.count * pixels_;
    const InputGradient d_x = call.d_inputs[0];
    const InputGradient d_residual = tail_.add ? call.d_inputs[1] : InputGradient{};
    // Where the gradient behind the tail is written: where it is wanted, or else over d_output.
    float* const gradient = d_residual.to != nullptr && !d_residual.add ? d_residual.to : call.d_output;
    const bool writes = tail_.relu || gradient != call.d_output;
    const Columns::Sums sums = columns_.gradient_sums(
        rows, call.inputs[0], mean_.data(), call.d_output, tail_.relu ? call.output : nullptr,
        writes ? gradient : nullptr, d_residual.add ? d_residual.to : nullptr);
    const double places = std::max(1.0, static_cast<double>(rows));
    for (std::size_t c = 0; c < channels_; ++c) {
      const double r = reciprocal_[c], d_weight = r * sums.second[c];
      by_x_[c] = static_cast<float>(scale_[c] * r * d_weight / places);
      constant_[c] = static_cast<float>(scale_[c] * sums.first[c] / places);
      put(call, weight, c, d_weight);
      put(call, bias, c, sums.first[c]);
      put(call, running_mean, c, double{mean_[c]} * pass.batch.count);
      put(call, running_var, c, variance_[c] * (places / std::max(1.0, places - 1)) * pass.batch.count);
    }
    if (gradient != call.d_output) clear_padding(pass, gradient);
    if (d_x.to == nullptr) return;
    for (auto* const each : {&by_x_, &constant_}) columns_.repeat(*each);
    columns_.gradient(rows, call.inputs[0], mean_.data(), gradient, scale_.data(), by_x_.data(),
                      constant_.data(), d_x.add, d_x.to);
    if (!d_x.add) clear_padding(pass, d_x.to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.d_in_place = true, .reads_inputs = true, .reads_output = tail_.relu, .adds = true};
  }
  [[nodiscard]] std::uint64_t bytes() const override {
    return 8 * columns_.width() * sizeof(float) + 3 * channels_ * sizeof(double);
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  // Variances are found from the squares of what is left after the first value of a channel is subtracted, so
  // that a mean far from zero costs no digits.
  void measure(const Pass& pass, const float* x) {
    const std::size_t rows = pass.batch.count * pixels_;
    const double places = std::max(1.0, static_cast<double>(rows));
    std::copy_n(x, channels_, mean_.begin());
    columns_.repeat(mean_);
    const Columns::Sums sums = columns_.sums(rows, x, mean_.data());
    for (std::size_t c = 0; c < channels_; ++c) {
      const double moved = sums.first[c] / places;
      variance_[c] = std::max(0.0, sums.second[c] / places - moved * moved);
      mean_[c] = static_cast<float>(mean_[c] + moved);
    }
  }

  static void put(const Backward& call, std::size_t parameter, std::size_t channel, double value) {
    float& to = call.d_parameters[parameter][channel];
    to = static_cast<float>(call.add ? to + value : value);
  }

  void clear_padding(const Pass& pass, float* gradient) const {
    const std::size_t sample = pixels_ * channels_;
    std::fill(gradient + pass.batch.count * sample, gradient + pass.size() * sample, 0.0F);
  }

  double epsilon_;
  FusedTail tail_;
  std::size_t pixels_, channels_;
  Columns columns_;
  std::vector<double> variance_;
  std::vector<float> mean_, reciprocal_, scale_, bias_;  // from forward to backward
  std::vector<float> by_x_, constant_;
};

}  // namespace

std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail) {
  CHECK(place.order == Order::samples, "batch norm works in the order of samples");
  return std::make_unique<BatchNormOp>(op, place.output, tail);
}

std::unique_ptr<Op> make(const BatchNorm& op, const OpPlace& place) { return make_batch_norm(op, place, {}); }

}  // namespace steelyard::nn::cpu
