#include "nn/cpu/direct.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/pool.h"

namespace steelyard::nn::cpu {
namespace {

class SamplesAveragePoolOp final : public Op {
 public:
  SamplesAveragePoolOp(const AveragePool& op, const OpPlace& place) : windows_(windows_of(op, place)) {}

  void forward(const Pass& pass, const Forward& call) override {
    windows_.samples = pass.size();
    pool_kernels().average_forward(windows_, call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    windows_.samples = pass.size();
    pool_kernels().average_backward(windows_, call.d_output, d_input.add, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  PoolWindows windows_;
};

class LanesAveragePoolOp final : public Op {
 public:
  LanesAveragePoolOp(const AveragePool& op, const OpPlace& place) : op_(op), input_(place.inputs[0]) {}

  void forward(const Pass& pass, const Forward& call) override {
    direct::average_pool_forward(direct_pool(op_, input_, pass), call.inputs[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    direct::average_pool_backward(direct_pool(op_, input_, pass), call.d_output, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  AveragePool op_;
  Shape input_;
};

}  // namespace

std::unique_ptr<Op> make(const AveragePool& op, const OpPlace& place) {
  if (place.order == Order::samples) return std::make_unique<SamplesAveragePoolOp>(op, place);
  require_direct(op);
  return std::make_unique<LanesAveragePoolOp>(op, place);
}

}  // namespace steelyard::nn::cpu
