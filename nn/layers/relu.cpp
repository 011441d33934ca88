#include "nn/layers/relu.h"

namespace steelyard::nn {
namespace {

class ReluOp final : public Op {
 public:
  ReluOp(Shape shape, Order order) : shape_(shape), order_(order) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) override {
    // Written so that a NaN stays one, and shows in the loss.
    for (std::uint64_t i = 0; i < size(pass); ++i) output[i] = input[i] < 0 ? 0 : input[i];
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    for (std::uint64_t i = 0; i < size(pass); ++i) g.d_input[i] = g.output[i] > 0 ? g.d_output[i] : 0;
  }

  [[nodiscard]] bool in_place() const override { return true; }
  [[nodiscard]] std::string implementation() const override { return "loops"; }

 private:
  [[nodiscard]] std::uint64_t size(const Pass& pass) const { return shape_.size() * pass.places(order_); }

  Shape shape_;
  Order order_;
};

}  // namespace

std::unique_ptr<Op> make_relu(Shape shape, Order order) { return std::make_unique<ReluOp>(shape, order); }

}  // namespace steelyard::nn
