#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

class TokenLinearOp final : public Op {
 public:
  TokenLinearOp(const TokenLinear& op, const OpPlace& place)
      : tokens_(std::uint64_t{place.output.height} * place.output.width),
        inputs_(place.inputs[0].channels),
        outputs_(op.outputs),
        bias_(op.bias) {}

  void forward(const Pass& pass, const Forward& call) override {
    const float *x = call.inputs[0], *weight = call.parameters[0];
    for (std::uint64_t row = 0; row < pass.size() * tokens_; ++row) {
      for (std::uint64_t o = 0; o < outputs_; ++o) {
        double sum = bias_ ? call.parameters[1][o] : 0;
        for (std::uint64_t i = 0; i < inputs_; ++i) {
          sum += static_cast<double>(weight[o * inputs_ + i]) * x[row * inputs_ + i];
        }
        call.output[row * outputs_ + o] = static_cast<float>(sum);
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t rows = pass.size() * tokens_;
    for (std::uint64_t o = 0; o < outputs_; ++o) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        float& d_weight = call.d_parameters[0][o * inputs_ + i];
        double sum = call.add ? d_weight : 0;
        for (std::uint64_t row = 0; row < rows; ++row) {
          sum += static_cast<double>(call.d_output[row * outputs_ + o]) * call.inputs[0][row * inputs_ + i];
        }
        d_weight = static_cast<float>(sum);
      }
      if (!bias_) continue;
      float& d_bias = call.d_parameters[1][o];
      double sum = call.add ? d_bias : 0;
      for (std::uint64_t row = 0; row < rows; ++row) sum += call.d_output[row * outputs_ + o];
      d_bias = static_cast<float>(sum);
    }
    if (call.d_inputs[0].to != nullptr) backward_data(rows, call);
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  void backward_data(std::uint64_t rows, const Backward& call) const {
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        double sum = 0;
        for (std::uint64_t o = 0; o < outputs_; ++o) {
          sum += static_cast<double>(call.parameters[0][o * inputs_ + i]) * call.d_output[row * outputs_ + o];
        }
        call.d_inputs[0].to[row * inputs_ + i] = static_cast<float>(sum);
      }
    }
  }

  std::uint64_t tokens_, inputs_, outputs_;
  bool bias_;
};

}  // namespace

std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place) {
  return std::make_unique<TokenLinearOp>(op, place);
}

namespace {

// The equation of layers.h, term by term; all sums in double. A vector is taken channel by channel, while a
// picture in the order of samples lies pixel by pixel.
class ReferenceLinear final : public Op {
 public:
  ReferenceLinear(const Linear& options, const OpPlace& place)
      : in_(place.inputs[0]), inputs_(in_.size()), outputs_(options.outputs), bias_(options.bias) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      for (std::uint64_t o = 0; o < outputs_; ++o) {
        double sum = bias_ ? call.parameters[1][o] : 0;
        for (std::uint64_t i = 0; i < inputs_; ++i) {
          sum += static_cast<double>(call.parameters[0][o * inputs_ + i]) * call.inputs[0][place(s, i)];
        }
        call.output[s * outputs_ + o] = static_cast<float>(sum);
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (std::uint64_t o = 0; o < outputs_; ++o) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        float& d_weight = call.d_parameters[0][o * inputs_ + i];
        double sum = call.add ? d_weight : 0;
        for (std::uint64_t s = 0; s < pass.size(); ++s) {
          sum += static_cast<double>(call.d_output[s * outputs_ + o]) * call.inputs[0][place(s, i)];
        }
        d_weight = static_cast<float>(sum);
      }
      if (!bias_) continue;
      double sum = call.add ? call.d_parameters[1][o] : 0;
      for (std::uint64_t s = 0; s < pass.size(); ++s) sum += call.d_output[s * outputs_ + o];
      call.d_parameters[1][o] = static_cast<float>(sum);
    }
    if (call.d_inputs[0].to != nullptr) backward_data(pass.size(), call);
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  [[nodiscard]] std::uint64_t place(std::uint64_t sample, std::uint64_t feature) const {
    const std::uint64_t pixels = std::uint64_t{in_.height} * in_.width;
    return sample * inputs_ + feature % pixels * in_.channels + feature / pixels;
  }

  void backward_data(std::uint64_t size, const Backward& call) const {
    for (std::uint64_t s = 0; s < size; ++s) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        double sum = 0;
        for (std::uint64_t o = 0; o < outputs_; ++o) {
          sum += static_cast<double>(call.parameters[0][o * inputs_ + i]) * call.d_output[s * outputs_ + o];
        }
        call.d_inputs[0].to[place(s, i)] = static_cast<float>(sum);
      }
    }
  }

  Shape in_;
  std::uint64_t inputs_, outputs_;
  bool bias_;
};

}  // namespace

std::unique_ptr<Op> make(const Linear& op, const OpPlace& place) {
  return std::make_unique<ReferenceLinear>(op, place);
}

}  // namespace steelyard::nn::reference
