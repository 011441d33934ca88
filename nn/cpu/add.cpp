#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/rows_kernels.h"

namespace steelyard::nn::cpu {
namespace {

class AddOp final : public Op {
 public:
  explicit AddOp(const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        features_(place.output.size()),
        order_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.sum(features_ * pass.places(order_), call.inputs[0], call.inputs[1], call.output);
  }

  // Both gradients are d_output. The one that is d_output's buffer is there already; it is doubled if a value
  // is added to itself.
  void backward(const Pass& pass, const Backward& call) override {
    const std::size_t size = features_ * pass.places(order_);
    for (const InputGradient& d_input : call.d_inputs) {
      if (d_input.to == call.d_output) {
        if (d_input.add) kernels_.sum(size, call.d_output, call.d_output, d_input.to);
        continue;
      }
      if (d_input.to == nullptr) continue;
      (d_input.add ? kernels_.add : kernels_.copy)(1, size, call.d_output, 0, d_input.to, 0);
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const RowsTable& kernels_;
  std::uint64_t features_;
  Order order_;
};

}  // namespace

std::unique_ptr<Op> make(const Add& /*op*/, const OpPlace& place) { return std::make_unique<AddOp>(place); }

}  // namespace steelyard::nn::cpu
