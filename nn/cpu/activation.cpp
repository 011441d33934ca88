#include "nn/cpu/activation_kernels.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"

namespace steelyard::nn::cpu {
namespace {

// Whether the derivative is found from the input; for the others the output is enough.
bool reads_input(Activation::Kind kind) {
  return kind == Activation::Kind::gelu || kind == Activation::Kind::gelu_tanh ||
         kind == Activation::Kind::silu || kind == Activation::Kind::hard_swish;
}

class ActivationOp final : public Op {
 public:
  ActivationOp(Activation::Kind kind, const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::activation, v3::activation, v4::activation)),
        kind_(static_cast<std::size_t>(kind)),
        reads_input_(reads_input(kind)),
        features_(place.output.size()),
        order_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.forward[kind_](features_ * pass.places(order_), call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    const auto& functions = d_input.add ? kernels_.add_backward : kernels_.backward;
    functions[kind_](features_ * pass.places(order_), reads_input_ ? call.inputs[0] : call.output,
                     call.d_output, d_input.to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = !reads_input_,
            .d_in_place = true,
            .reads_inputs = reads_input_,
            .reads_output = !reads_input_,
            .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const ActivationTable& kernels_;
  std::size_t kind_;
  bool reads_input_;
  std::uint64_t features_;
  Order order_;
};

}  // namespace

std::unique_ptr<Op> make(const Activation& op, const OpPlace& place) {
  return std::make_unique<ActivationOp>(op.kind, place);
}

}  // namespace steelyard::nn::cpu
