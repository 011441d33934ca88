#include <algorithm>
#include <cmath>
#include <numbers>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

using Kind = Activation::Kind;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double phi(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// x (1 + tanh u) / 2 is x sigmoid(2u)
double gelu_argument(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double gelu_argument_slope(double x) {
  return 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
}

double value(Kind kind, double x) {
  switch (kind) {
    case Kind::relu:
      return x < 0 ? 0 : x;
    case Kind::relu6:
      return std::clamp(x, 0.0, 6.0);
    case Kind::gelu:
      return x * phi(x);
    case Kind::gelu_tanh:
      return x * sigmoid(gelu_argument(x));
    case Kind::silu:
      return x * sigmoid(x);
    case Kind::hard_swish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case Kind::hard_sigmoid:
      return std::clamp(x + 3, 0.0, 6.0) / 6;
    case Kind::sigmoid:
      return sigmoid(x);
    case Kind::tanh:
      return std::tanh(x);
  }
  return x;
}

// At a kink, the slope of the flat side, except for hard_swish, whose right end has the steep one.
double derivative(Kind kind, double x) {
  switch (kind) {
    case Kind::relu:
      return x > 0 ? 1 : 0;
    case Kind::relu6:
      return x > 0 && x < 6 ? 1 : 0;
    case Kind::gelu:
      return phi(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case Kind::gelu_tanh:
      return sigmoid(gelu_argument(x)) * (1 + x * sigmoid(-gelu_argument(x)) * gelu_argument_slope(x));
    case Kind::silu:
      return sigmoid(x) * (1 + x * sigmoid(-x));
    case Kind::hard_swish:
      return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
    case Kind::hard_sigmoid:
      return x > -3 && x < 3 ? 1 / 6.0 : 0;
    case Kind::sigmoid:
      return sigmoid(x) * sigmoid(-x);
    case Kind::tanh:
      return 1 / (std::cosh(x) * std::cosh(x));
  }
  return 1;
}

class ActivationOp final : public Op {
 public:
  ActivationOp(Kind kind, std::uint64_t features) : kind_(kind), features_(features) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < features_ * pass.size(); ++i) {
      call.output[i] = static_cast<float>(value(kind_, call.inputs[0][i]));
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::uint64_t i = 0; i < features_ * pass.size(); ++i) {
      d_input.to[i] = static_cast<float>(derivative(kind_, call.inputs[0][i]) * call.d_output[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  Kind kind_;
  std::uint64_t features_;
};

}  // namespace

std::unique_ptr<Op> make(const Activation& op, const OpPlace& place) {
  return std::make_unique<ActivationOp>(op.kind, place.output.size());
}

}  // namespace steelyard::nn::reference
