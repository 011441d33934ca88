#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

// The equation of layers.h, term by term; all sums in double. Weights expect channel by channel, while a
// picture in the order of samples lies pixel by pixel. A linear layer of tokens treats each token as a
// vector.
class LinearOp final : public ReferenceOp {
 public:
  LinearOp(const Linear& op, const OpPlace& place)
      : in_(place.inputs[0]), inputs_(in_.size()), outputs_(op.outputs), bias_(op.bias) {}
  LinearOp(const TokenLinear& op, const OpPlace& place)
      : in_{1, 1, place.inputs[0].channels},
        tokens_(pixels_of(place.output)),
        inputs_(in_.size()),
        outputs_(op.outputs),
        bias_(op.bias) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t row = 0; row < pass.size() * tokens_; ++row) {
      for (std::uint64_t o = 0; o < outputs_; ++o) {
        double sum = bias_ ? call.parameters[1][o] : 0;
        for (std::uint64_t i = 0; i < inputs_; ++i) {
          sum += static_cast<double>(call.parameters[0][o * inputs_ + i]) * call.inputs[0][place(row, i)];
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
          sum += static_cast<double>(call.d_output[row * outputs_ + o]) * call.inputs[0][place(row, i)];
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

 private:
  [[nodiscard]] std::uint64_t place(std::uint64_t row, std::uint64_t feature) const {
    const std::uint64_t pixels = pixels_of(in_);
    return row * inputs_ + feature % pixels * in_.channels + feature / pixels;
  }

  void backward_data(std::uint64_t rows, const Backward& call) const {
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t i = 0; i < inputs_; ++i) {
        double sum = 0;
        for (std::uint64_t o = 0; o < outputs_; ++o) {
          sum += static_cast<double>(call.parameters[0][o * inputs_ + i]) * call.d_output[row * outputs_ + o];
        }
        call.d_inputs[0].to[place(row, i)] = static_cast<float>(sum);
      }
    }
  }

  Shape in_;  // of one row
  std::uint64_t tokens_ = 1, inputs_, outputs_;
  bool bias_;
};

}  // namespace

STEELYARD_OP(TokenLinear, LinearOp)
STEELYARD_OP(Linear, LinearOp)

}  // namespace steelyard::nn::reference
