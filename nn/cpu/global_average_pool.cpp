#include "core/check.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/rows_kernels.h"

namespace steelyard::nn::cpu {
namespace {

class GlobalAveragePoolOp final : public Op {
 public:
  explicit GlobalAveragePoolOp(Shape in)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{in.height} * in.width),
        channels_(in.channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::size_t s = 0; s < pass.size(); ++s) {
      kernels_.mean(pixels_, channels_, call.inputs[0] + s * pixels_ * channels_,
                    call.output + s * channels_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::size_t s = 0; s < pass.size(); ++s) {
      kernels_.spread(pixels_, channels_, call.d_output + s * channels_, d_input.add,
                      d_input.to + s * pixels_ * channels_);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, channels_;
};

}  // namespace

std::unique_ptr<Op> make(const GlobalAveragePool& /*op*/, const OpPlace& place) {
  CHECK(place.order == Order::samples, "the global average pool works in the order of samples");
  return std::make_unique<GlobalAveragePoolOp>(place.inputs[0]);
}

}  // namespace steelyard::nn::cpu
