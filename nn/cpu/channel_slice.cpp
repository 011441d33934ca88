#include "core/check.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/rows_kernels.h"

namespace steelyard::nn::cpu {
namespace {

class ChannelSliceOp final : public Op {
 public:
  ChannelSliceOp(const ChannelSlice& op, Shape in)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{in.height} * in.width),
        channels_(in.channels),
        begin_(op.begin),
        length_(op.end - op.begin) {}

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.copy(pass.size() * pixels_, length_, call.inputs[0] + begin_, channels_, call.output, length_);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    const std::size_t rows = pass.size() * pixels_, behind = begin_ + length_;
    if (d_input.add) {
      kernels_.add(rows, length_, call.d_output, length_, d_input.to + begin_, channels_);
    } else {
      kernels_.clear(rows, begin_, d_input.to, channels_);
      kernels_.copy(rows, length_, call.d_output, length_, d_input.to + begin_, channels_);
      kernels_.clear(rows, channels_ - behind, d_input.to + behind, channels_);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, channels_, begin_, length_;
};

}  // namespace

std::unique_ptr<Op> make(const ChannelSlice& op, const OpPlace& place) {
  CHECK(place.order == Order::samples, "channels are sliced in the order of samples");
  return std::make_unique<ChannelSliceOp>(op, place.inputs[0]);
}

}  // namespace steelyard::nn::cpu
