// The places of a picture already lie in the order of its tokens: in place, nothing is to be done.
#include "nn/cuda/elementwise.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

struct Sum {
  __device__ float operator()(std::uint64_t, float a, float b) const { return a + b; }
};

class TokensOp final : public Op {
 public:
  TokensOp(const OpPlace& place, const Context& context)
      : features_(place.output.size()), context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    if (call.output == call.inputs[0]) return;
    context_.stream.copy_array(call.output, call.inputs[0], features_ * pass.size());
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr || to == call.d_output) return;
    if (add) {
      elementwise(context_.stream, features_ * pass.size(), Sum(), to, to, call.d_output);
    } else {
      context_.stream.copy_array(to, call.d_output, features_ * pass.size());
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "none"; }

 private:
  std::uint64_t features_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Tokens& /*op*/, const OpPlace& place, const Context& context) {
  return std::make_unique<TokensOp>(place, context);
}

}  // namespace steelyard::nn::cuda
