// A sum, and copies of its gradient: bound by memory, 16 bytes at a time.
#include "nn/cuda/elementwise.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

struct Sum {
  __device__ float operator()(std::uint64_t, float a, float b) const { return a + b; }
};

class AddOp final : public Op {
 public:
  AddOp(const OpPlace& place, const Context& context) : features_(place.output.size()), context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    elementwise(context_.stream, features_ * pass.size(), Sum(), call.output, call.inputs[0], call.inputs[1]);
  }

  // Both gradients are d_output. The one that is d_output's buffer is there already; it is doubled if a
  // value is added to itself.
  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t n = features_ * pass.size();
    for (const auto& [to, add] : call.d_inputs) {
      if (to == nullptr || (to == call.d_output && !add)) continue;
      if (add) {
        elementwise(context_.stream, n, Sum(), to, to, call.d_output);
      } else {
        context_.stream.copy_array(to, call.d_output, n);
      }
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t features_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Add& /*op*/, const OpPlace& place, const Context& context) {
  return std::make_unique<AddOp>(place, context);
}

}  // namespace steelyard::nn::cuda
