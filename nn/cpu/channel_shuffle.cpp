#include "core/check.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/rows_kernels.h"

namespace steelyard::nn::cpu {
namespace {

class ChannelShuffleOp final : public Op {
 public:
  ChannelShuffleOp(std::size_t groups, Shape shape)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{shape.height} * shape.width),
        groups_(groups),
        length_(shape.channels / groups) {}

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.shuffle(pass.size() * pixels_, groups_, length_, call.inputs[0], false, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    kernels_.shuffle(pass.size() * pixels_, length_, groups_, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, groups_, length_;
};

}  // namespace

std::unique_ptr<Op> make(const ChannelShuffle& op, const OpPlace& place) {
  CHECK(place.order == Order::samples, "channels are shuffled in the order of samples");
  return std::make_unique<ChannelShuffleOp>(op.groups, place.output);
}

}  // namespace steelyard::nn::cpu
