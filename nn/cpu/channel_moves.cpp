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
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{place.output.height} * place.output.width),
        groups_(op.groups),
        length_(place.output.channels / op.groups) {
    CHECK(place.order == Order::samples, "channels are shuffled in the order of samples");
  }

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.shuffle(pass.size() * pixels_, groups_, length_, call.inputs[0], false, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    kernels_.shuffle(pass.size() * pixels_, length_, groups_, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, groups_, length_;
};

class ChannelSliceOp final : public DirectOp {
 public:
  ChannelSliceOp(const ChannelSlice& op, const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{place.output.height} * place.output.width),
        channels_(place.inputs[0].channels),
        begin_(op.begin),
        length_(op.end - op.begin) {
    CHECK(place.order == Order::samples, "channels are sliced in the order of samples");
  }

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

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, channels_, begin_, length_;
};

class ConcatOp final : public DirectOp {
 public:
  ConcatOp(const Concat& /*op*/, const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{place.output.height} * place.output.width),
        channels_(place.output.channels) {
    CHECK(place.order == Order::samples, "channels are joined in the order of samples");
    for (const Shape& in : place.inputs) parts_.push_back(in.channels);
  }

  void forward(const Pass& pass, const Forward& call) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      kernels_.copy(pass.size() * pixels_, parts_[i], call.inputs[i], parts_[i], call.output + begin,
                    channels_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      const InputGradient d_input = call.d_inputs[i];
      if (d_input.to == nullptr) continue;
      const auto kernel = d_input.add ? kernels_.add : kernels_.copy;
      kernel(pass.size() * pixels_, parts_[i], call.d_output + begin, channels_, d_input.to, parts_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, channels_;
  std::vector<std::size_t> parts_;  // channels of each input
};

}  // namespace

STEELYARD_OP(ChannelShuffle, ChannelShuffleOp)
STEELYARD_OP(ChannelSlice, ChannelSliceOp)
STEELYARD_OP(Concat, ConcatOp)

}  // namespace steelyard::nn::cpu
