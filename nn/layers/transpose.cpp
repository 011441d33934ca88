#include "nn/layers/transpose.h"

#include "nn/cpu/direct.h"

namespace steelyard::nn {
namespace {

class TransposeOp final : public Op {
 public:
  TransposeOp(Shape shape, Order to) : shape_(shape), to_(to) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    turn(pass, to_, input, output);
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    turn(pass, to_ == Order::lanes ? Order::samples : Order::lanes, g.d_output, g.d_input);
  }

  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  void turn(const Pass& pass, Order to, const float* input, float* output) const {
    const auto transpose = to == Order::lanes ? direct::to_lanes : direct::from_lanes;
    transpose(shape_, pass.lanes(), pass.size(), input, output, cpu_level());
  }

  Shape shape_;
  Order to_;
};

}  // namespace

std::unique_ptr<Op> make_transpose(Shape shape, Order to) { return std::make_unique<TransposeOp>(shape, to); }

}  // namespace steelyard::nn
