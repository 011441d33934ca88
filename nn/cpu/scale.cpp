#include <algorithm>
#include <vector>

#include "core/check.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/scale_kernels.h"

namespace steelyard::nn::cpu {
namespace {

class ScaleOp final : public Op {
 public:
  explicit ScaleOp(Shape shape)
      : kernels_(at_level(cpu_level(), baseline::scale, v3::scale, v4::scale)),
        pixels_(std::size_t{shape.height} * shape.width),
        channels_(shape.channels),
        unwanted_(channels_) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * pixels_ * channels_;
      kernels_.forward(pixels_, channels_, call.inputs[0] + at, call.inputs[1] + s * channels_,
                       call.output + at);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_a = call.d_inputs[0], d_factors = call.d_inputs[1];
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * pixels_ * channels_;
      float* const sums = d_factors.to == nullptr ? unwanted_.data() : d_factors.to + s * channels_;
      if (!d_factors.add) std::fill_n(sums, channels_, 0.0F);
      kernels_.backward(pixels_, channels_, call.inputs[0] + at, call.inputs[1] + s * channels_,
                        call.d_output + at, d_a.add, d_a.to == nullptr ? nullptr : d_a.to + at, sums);
    }
  }

  // Where a vector is scaled, d_output is read after the sums for the factors are begun.
  [[nodiscard]] Traits traits() const override { return {.d_in_place = pixels_ > 1, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override { return channels_ * sizeof(float); }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const ScaleTable& kernels_;
  std::size_t pixels_, channels_;
  std::vector<float> unwanted_;  // sums that nobody asked for
};

}  // namespace

std::unique_ptr<Op> make(const Scale& /*op*/, const OpPlace& place) {
  CHECK(place.order == Order::samples, "channels are scaled in the order of samples");
  return std::make_unique<ScaleOp>(place.output);
}

}  // namespace steelyard::nn::cpu
