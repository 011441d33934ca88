#include <vector>

#include "core/check.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/kernels.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

class ChannelShuffleOp final : public DirectOp {
 public:
  ChannelShuffleOp(const ChannelShuffle& op, const OpPlace& place)
      : pixels_(pixels_of(place.output)), groups_(op.groups), length_(place.output.channels / op.groups) {
    CHECK(place.order == Order::samples, "channels are shuffled in the order of samples");
  }

  void forward(const Pass& pass, const Forward& call) override {
    rows_kernels().shuffle(pass.size() * pixels_, groups_, length_, call.inputs[0], false, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    rows_kernels().shuffle(pass.size() * pixels_, length_, groups_, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::size_t pixels_, groups_, length_;
};

class ChannelSliceOp final : public DirectOp {
 public:
  ChannelSliceOp(const ChannelSlice& op, const OpPlace& place)
      : pixels_(pixels_of(place.output)),
        channels_(place.inputs[0].channels),
        begin_(op.begin),
        length_(op.end - op.begin) {
    CHECK(place.order == Order::samples, "channels are sliced in the order of samples");
  }

  void forward(const Pass& pass, const Forward& call) override {
    rows_kernels().copy(pass.size() * pixels_, length_, call.inputs[0] + begin_, channels_, call.output,
                        length_);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    const std::size_t rows = pass.size() * pixels_, behind = begin_ + length_;
    if (d_input.add) {
      rows_kernels().add(rows, length_, call.d_output, length_, d_input.to + begin_, channels_);
    } else {
      rows_kernels().clear(rows, begin_, d_input.to, channels_);
      rows_kernels().copy(rows, length_, call.d_output, length_, d_input.to + begin_, channels_);
      rows_kernels().clear(rows, channels_ - behind, d_input.to + behind, channels_);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::size_t pixels_, channels_, begin_, length_;
};

class ConcatOp final : public DirectOp {
 public:
  ConcatOp(const Concat& /*op*/, const OpPlace& place)
      : pixels_(pixels_of(place.output)), channels_(place.output.channels) {
    CHECK(place.order == Order::samples, "channels are joined in the order of samples");
    for (const Shape& in : place.inputs) parts_.push_back(in.channels);
  }

  void forward(const Pass& pass, const Forward& call) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      rows_kernels().copy(pass.size() * pixels_, parts_[i], call.inputs[i], parts_[i], call.output + begin,
                          channels_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      const InputGradient d_input = call.d_inputs[i];
      if (d_input.to == nullptr) continue;
      const auto kernel = d_input.add ? rows_kernels().add : rows_kernels().copy;
      kernel(pass.size() * pixels_, parts_[i], call.d_output + begin, channels_, d_input.to, parts_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::size_t pixels_, channels_;
  std::vector<std::size_t> parts_;  // channels of each input
};

}  // namespace

STEELYARD_OP(ChannelShuffle, ChannelShuffleOp)
STEELYARD_OP(ChannelSlice, ChannelSliceOp)
STEELYARD_OP(Concat, ConcatOp)

}  // namespace steelyard::nn::cpu
