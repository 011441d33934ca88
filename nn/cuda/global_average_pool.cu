// Means of channels: bound by memory, each number is read or written once.
#include "nn/cuda/by_channel.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

struct Itself {
  __device__ float operator()(float x) const { return x; }
};
struct Share {
  float share;
  __device__ float operator()(float d) const { return share * d; }
};
struct AddedShare {
  float share;
  __device__ float operator()(float d, float before) const { return before + share * d; }
};

class GlobalAveragePoolOp final : public Op {
 public:
  GlobalAveragePoolOp(Shape in, const Context& context)
      : places_(std::uint64_t{in.height} * in.width),
        channels_(in.channels),
        share_(static_cast<float>(1 / static_cast<double>(places_))),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    channel_sums(context_.stream, {pass.size(), places_, channels_}, Itself(), share_, false, call.output,
                 call.inputs[0]);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const Places places{pass.size(), places_, channels_};
    if (add) {
      by_channel(context_.stream, places, AddedShare{share_}, call.d_output, to, to);
    } else {
      by_channel(context_.stream, places, Share{share_}, call.d_output, to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_;
  float share_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const GlobalAveragePool& /*op*/, const OpPlace& place, const Context& context) {
  return std::make_unique<GlobalAveragePoolOp>(place.inputs[0], context);
}

}  // namespace steelyard::nn::cuda
