#include <algorithm>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class SelectTokenOp final : public Op {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place) : in_(place.inputs[0]), token_(op.token) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * in_.channels; ++i) {
      call.output[i] = call.inputs[0][place(i)];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    float* to = call.d_inputs[0].to;
    if (to == nullptr) return;
    std::fill_n(to, pass.size() * in_.size(), 0.0F);
    for (std::uint64_t i = 0; i < pass.size() * in_.channels; ++i) to[place(i)] = call.d_output[i];
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  [[nodiscard]] std::uint64_t place(std::uint64_t i) const {
    return i / in_.channels * in_.size() + token_ * in_.channels + i % in_.channels;
  }

  Shape in_;
  std::uint64_t token_;
};

}  // namespace

std::unique_ptr<Op> make(const SelectToken& op, const OpPlace& place) {
  return std::make_unique<SelectTokenOp>(op, place);
}

}  // namespace steelyard::nn::reference
