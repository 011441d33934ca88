#include <vector>

#include "core/check.h"
#include "nn/cpu/direct.h"
#include "nn/cpu/onednn.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

// The kernels read weights channels last, so that a pixel's few channels are adjacent.
class DirectConv2d final : public DirectOp {
 public:
  DirectConv2d(const Conv2d& options, const OpPlace& place, FusedRelu relu)
      : in_(place.inputs[0]),
        out_(place.output),
        options_(options),
        relu_(relu),
        weights_(std::uint64_t{out_.channels} * kernel() * kernel() * in_.channels),
        d_weights_(weights_.size()) {
    CHECK(suits_direct(options, in_), "the direct kernels do not know such a convolution");
  }

  void forward(const Pass& pass, const Forward& call) override {
    each_weight(
        [&](std::uint64_t ours, std::uint64_t theirs) { weights_[ours] = call.parameters[0][theirs]; });
    direct::forward(convolution(pass), call.inputs[0], weights_.data(),
                    options_.bias ? call.parameters[1] : nullptr, relu_ != FusedRelu::no, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (relu_ == FusedRelu::yes)
      direct::relu_backward(call.output, call.d_output, out_.size() * pass.lanes());
    if (call.add) {
      each_weight(
          [&](std::uint64_t ours, std::uint64_t theirs) { d_weights_[ours] = call.d_parameters[0][theirs]; });
    }
    direct::backward_weights(convolution(pass), call.inputs[0], call.d_output, call.add, d_weights_.data(),
                             options_.bias ? call.d_parameters[1] : nullptr);
    each_weight(
        [&](std::uint64_t ours, std::uint64_t theirs) { call.d_parameters[0][theirs] = d_weights_[ours]; });
    if (call.d_inputs[0].to != nullptr) {
      direct::backward_data(convolution(pass), call.d_output, weights_.data(), call.d_inputs[0].to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_output = relu_ == FusedRelu::yes}; }
  [[nodiscard]] std::uint64_t bytes() const override { return 2 * weights_.size() * sizeof(float); }

 private:
  [[nodiscard]] std::uint32_t kernel() const { return options_.kernel.rows; }

  // visit(place in [out][row][column][in], place in [out][in][row][column])
  template <class Visit>
  void each_weight(Visit visit) const {
    const std::uint64_t window = std::uint64_t{kernel()} * kernel();
    std::uint64_t ours = 0;
    for (std::uint64_t o = 0; o < out_.channels; ++o) {
      for (std::uint64_t w = 0; w < window; ++w) {
        for (std::uint64_t i = 0; i < in_.channels; ++i) visit(ours++, (o * in_.channels + i) * window + w);
      }
    }
  }

  [[nodiscard]] direct::Convolution convolution(const Pass& pass) const {
    return {in_.height,  in_.width, in_.channels, out_.channels, kernel(), options_.padding.rows,
            pass.lanes()};
  }

  Shape in_, out_;
  Conv2d options_;
  FusedRelu relu_;
  std::vector<float> weights_, d_weights_;  // of the running call, channels last
};

}  // namespace

std::unique_ptr<Op> make_direct_conv2d(const Conv2d& op, const OpPlace& place, FusedRelu relu) {
  return std::make_unique<DirectConv2d>(op, place, relu);
}

// From this number of input channels on, oneDNN fills its vectors.
constexpr std::uint32_t onednn_channels = 8;

bool suits_direct(const Conv2d& op, Shape input) {
  return input.channels < onednn_channels && op.stride == 1 && op.groups == 1 &&
         op.kernel.rows == op.kernel.columns && op.padding.rows == op.padding.columns &&
         op.padding.rows < op.kernel.rows;
}

std::unique_ptr<Op> make(const Conv2d& op, const OpPlace& place) {
  if (place.order == Order::lanes) return make_direct_conv2d(op, place, FusedRelu::no);
  // Without AMX Winograd's method in float32 is faster than oneDNN's direct one in bf16 (0.56 to 1.01 of the
  // time for ResNets' shapes on a Zen 5): it needs a quarter of the products, and these take twice the time.
  const bool amx = place.precision == Precision::bf16 && onednn::has_amx();
  if (!amx && suits_winograd(op, place)) return make_winograd_conv2d(op, place);
  return make_onednn_conv2d(op, place);
}

}  // namespace steelyard::nn::cpu
