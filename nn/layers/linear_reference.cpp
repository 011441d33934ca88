#include "nn/layers/linear.h"

namespace steelyard::nn {
namespace {

// The equations of linear.h, term by term; all sums in double.
class ReferenceLinear final : public Op {
 public:
  ReferenceLinear(std::uint64_t inputs, std::uint32_t outputs) : inputs_(inputs), outputs_(outputs) {}

  void forward(const Pass& pass, const float* parameters, const float* input, float* output) override {
    const float* biases = parameters + outputs_ * inputs_;
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      for (std::uint64_t o = 0; o < outputs_; ++o) {
        double sum = biases[o];
        for (std::uint64_t i = 0; i < inputs_; ++i) {
          sum += static_cast<double>(parameters[o * inputs_ + i]) * input[s * inputs_ + i];
        }
        output[s * outputs_ + o] = static_cast<float>(sum);
      }
    }
  }

  void backward(const Pass& pass, const float* parameters, const Gradients& g) override {
    for (std::uint64_t o = 0; o < outputs_; ++o) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        double sum = g.add ? g.d_parameters[o * inputs_ + i] : 0;
        for (std::uint64_t s = 0; s < pass.size(); ++s) {
          sum += static_cast<double>(g.d_output[s * outputs_ + o]) * g.input[s * inputs_ + i];
        }
        g.d_parameters[o * inputs_ + i] = static_cast<float>(sum);
      }
      float& d_bias = g.d_parameters[outputs_ * inputs_ + o];
      double sum = g.add ? d_bias : 0;
      for (std::uint64_t s = 0; s < pass.size(); ++s) sum += g.d_output[s * outputs_ + o];
      d_bias = static_cast<float>(sum);
    }
    if (g.d_input != nullptr) backward_data(pass.size(), parameters, g);
  }

  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  void backward_data(std::uint64_t size, const float* parameters, const Gradients& g) const {
    for (std::uint64_t s = 0; s < size; ++s) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        double sum = 0;
        for (std::uint64_t o = 0; o < outputs_; ++o) {
          sum += static_cast<double>(parameters[o * inputs_ + i]) * g.d_output[s * outputs_ + o];
        }
        g.d_input[s * inputs_ + i] = static_cast<float>(sum);
      }
    }
  }

  std::uint64_t inputs_, outputs_;
};

}  // namespace

std::unique_ptr<Op> make_reference_linear(Shape input, std::uint32_t outputs) {
  return std::make_unique<ReferenceLinear>(input.size(), outputs);
}

}  // namespace steelyard::nn
