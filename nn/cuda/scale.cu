// Bound by memory: one sweep forward, one backward for each gradient.
#include "nn/cuda/by_channel.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

struct Times {
  __device__ float operator()(float a, float b) const { return a * b; }
};
struct AddedTimes {
  __device__ float operator()(float factor, float d, float before) const { return before + factor * d; }
};

class ScaleOp final : public Op {
 public:
  ScaleOp(Shape shape, const Context& context)
      : places_(std::uint64_t{shape.height} * shape.width), channels_(shape.channels), context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    by_channel(context_.stream, {pass.size(), places_, channels_}, Times(), call.inputs[1], call.output,
               call.inputs[0]);
  }

  // The factors first: the other gradient may take the place of d_output.
  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_a = call.d_inputs[0], d_factors = call.d_inputs[1];
    const Places places{pass.size(), places_, channels_};
    if (d_factors.to != nullptr) {
      channel_sums(context_.stream, places, Times(), 1, d_factors.add, d_factors.to, call.d_output,
                   call.inputs[0]);
    }
    if (d_a.to == nullptr) return;
    if (d_a.add) {
      by_channel(context_.stream, places, AddedTimes(), call.inputs[1], d_a.to, call.d_output, d_a.to);
    } else {
      by_channel(context_.stream, places, Times(), call.inputs[1], d_a.to, call.d_output);
    }
  }

  // Where a vector is scaled, the gradient of the factors has the output's shape too, and would overwrite
  // it.
  [[nodiscard]] Traits traits() const override { return {.d_in_place = places_ > 1, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Scale& /*op*/, const OpPlace& place, const Context& context) {
  return std::make_unique<ScaleOp>(place.output, context);
}

}  // namespace steelyard::nn::cuda
