// Bound by memory. Threads write side by side; what they read is in the same few lines of the cache.
#include "nn/cuda/in_samples.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

// Channels in `groups` rows of this length, read column by column.
__global__ void shuffle(std::uint32_t all, std::uint32_t groups, std::uint32_t length, const float* from,
                        bool add, float* to) {
  const unsigned i = thread_in_sample();
  if (i >= all) return;
  const unsigned channels = groups * length, c = i % channels;
  const std::uint64_t sample = std::uint64_t{blockIdx.y} * all;
  const float value = from[sample + i - c + c % groups * length + c / groups];
  to[sample + i] = add ? to[sample + i] + value : value;
}

class ChannelShuffleOp final : public Op {
 public:
  ChannelShuffleOp(std::uint32_t groups, Shape shape, const Context& context)
      : all_(static_cast<std::uint32_t>(shape.size())),
        groups_(groups),
        length_(shape.channels / groups),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    launch_in_samples(context_.stream, pass.size(), all_, &shuffle, all_, groups_, length_, call.inputs[0],
                      false, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch_in_samples(context_.stream, pass.size(), all_, &shuffle, all_, length_, groups_, call.d_output,
                      add, to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint32_t all_, groups_, length_;  // all_: numbers of a sample
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const ChannelShuffle& op, const OpPlace& place, const Context& context) {
  return std::make_unique<ChannelShuffleOp>(op.groups, place.output, context);
}

}  // namespace steelyard::nn::cuda
