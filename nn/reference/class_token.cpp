#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class ClassTokenOp final : public Op {
 public:
  explicit ClassTokenOp(const OpPlace& place) : in_(place.inputs[0]) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      float* to = call.output + s * (in_.size() + in_.channels);
      for (std::uint64_t f = 0; f < in_.channels; ++f) to[f] = call.parameters[0][f];
      for (std::uint64_t i = 0; i < in_.size(); ++i)
        to[in_.channels + i] = call.inputs[0][s * in_.size() + i];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t sample = in_.size() + in_.channels;
    for (std::uint64_t f = 0; f < in_.channels; ++f) {
      double sum = call.add ? call.d_parameters[0][f] : 0;
      for (std::uint64_t s = 0; s < pass.size(); ++s) sum += call.d_output[s * sample + f];
      call.d_parameters[0][f] = static_cast<float>(sum);
    }
    if (call.d_inputs[0].to == nullptr) return;
    for (std::uint64_t i = 0; i < pass.size() * in_.size(); ++i) {
      call.d_inputs[0].to[i] = call.d_output[i / in_.size() * sample + in_.channels + i % in_.size()];
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  Shape in_;
};

}  // namespace

std::unique_ptr<Op> make(const ClassToken&, const OpPlace& place) {
  return std::make_unique<ClassTokenOp>(place);
}

}  // namespace steelyard::nn::reference
