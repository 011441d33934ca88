#include <algorithm>
#include <vector>

#include "core/check.h"
#include "nn/cpu/layer_norm_kernels.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"

namespace steelyard::nn::cpu {
namespace {

class LayerNormOp final : public Op {
 public:
  LayerNormOp(const LayerNorm& op, const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::layer_norm, v3::layer_norm, v4::layer_norm)),
        epsilon_(static_cast<float>(op.epsilon)),
        tokens_(std::size_t{place.output.height} * place.output.width),
        channels_(place.output.channels),
        statistics_(2 * tokens_ * place.micro_batch),
        of_sample_(2 * channels_),
        of_all_(2 * channels_) {}

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.forward(pass.size() * tokens_, channels_, call.inputs[0], call.parameters[0], call.parameters[1],
                     epsilon_, statistics_.data(), call.output);
  }

  // Sums of weight and bias are floats within a sample and doubles over all. Padded samples need no care: a
  // gradient of zeros gives zeros.
  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_x = call.d_inputs[0];
    std::fill(of_all_.begin(), of_all_.end(), 0);
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * tokens_ * channels_;
      std::fill(of_sample_.begin(), of_sample_.end(), 0.0F);
      kernels_.backward(tokens_, channels_, call.inputs[0] + at, call.parameters[0],
                        statistics_.data() + 2 * s * tokens_, call.d_output + at, of_sample_.data(),
                        of_sample_.data() + channels_, d_x.add, d_x.to == nullptr ? nullptr : d_x.to + at);
      for (std::size_t i = 0; i < of_all_.size(); ++i) of_all_[i] += of_sample_[i];
    }
    for (std::size_t i = 0; i < of_all_.size(); ++i) {
      float& to = call.d_parameters[i / channels_][i % channels_];
      to = static_cast<float>(call.add ? to + of_all_[i] : of_all_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.d_in_place = true, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return (statistics_.size() + of_sample_.size()) * sizeof(float) + of_all_.size() * sizeof(double);
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const LayerNormTable& kernels_;
  float epsilon_;
  std::size_t tokens_, channels_;
  std::vector<float> statistics_;  // of each token, from forward to backward
  std::vector<float> of_sample_;   // d_weight and d_bias
  std::vector<double> of_all_;
};

}  // namespace

std::unique_ptr<Op> make(const LayerNorm& op, const OpPlace& place) {
  CHECK(place.order == Order::samples, "layer norm works in the order of samples");
  return std::make_unique<LayerNormOp>(op, place);
}

}  // namespace steelyard::nn::cpu
