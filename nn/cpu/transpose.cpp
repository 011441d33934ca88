#include "nn/cpu/transpose.h"

#include "nn/cpu/direct.h"

namespace steelyard::nn::cpu {
namespace {

class TransposeOp final : public Op {
 public:
  explicit TransposeOp(const OpPlace& place) : shape_(place.output), to_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    turn(pass, to_, call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    turn(pass, to_ == Order::lanes ? Order::samples : Order::lanes, call.d_output, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
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

std::unique_ptr<Op> make_transpose(const OpPlace& place) { return std::make_unique<TransposeOp>(place); }

}  // namespace steelyard::nn::cpu
