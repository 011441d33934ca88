#include "nn/layers/relu.h"

#include "nn/cpu/direct.h"

namespace steelyard::nn {
namespace {

class ReferenceRelu : public Op {
 public:
  ReferenceRelu(Shape shape, Order order) : shape_(shape), order_(order) {}

  void forward(const Pass& pass, const float* /*parameters*/, const float* input, float* output) final {
    for (std::uint64_t i = 0; i < size(pass); ++i) output[i] = input[i] < 0 ? 0 : input[i];
  }

  void backward(const Pass& pass, const float* /*parameters*/, const Gradients& g) override {
    if (g.d_input == nullptr) return;
    for (std::uint64_t i = 0; i < size(pass); ++i) g.d_input[i] = g.output[i] > 0 ? g.d_output[i] : 0;
  }

  [[nodiscard]] bool in_place() const final { return true; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 protected:
  [[nodiscard]] std::uint64_t size(const Pass& pass) const { return shape_.size() * pass.places(order_); }

 private:
  Shape shape_;
  Order order_;
};

// The compiler makes a branch of the choice in backward, and random signs make branches slow.
class ReluOp final : public ReferenceRelu {
 public:
  using ReferenceRelu::ReferenceRelu;

  void backward(const Pass& pass, const float* parameters, const Gradients& g) override {
    if (g.d_input != g.d_output) return ReferenceRelu::backward(pass, parameters, g);
    const std::uint64_t size = this->size(pass), whole = size / 16 * 16;
    direct::relu_backward(g.output, g.d_input, whole);
    for (std::uint64_t i = whole; i < size; ++i) g.d_input[i] = g.output[i] > 0 ? g.d_input[i] : 0;
  }

  [[nodiscard]] std::string implementation() const override { return "direct"; }
};

}  // namespace

std::unique_ptr<Op> make_reference_relu(Shape shape) {
  return std::make_unique<ReferenceRelu>(shape, Order::samples);
}

std::unique_ptr<Op> make_relu(Shape shape, Order order) { return std::make_unique<ReluOp>(shape, order); }

}  // namespace steelyard::nn
