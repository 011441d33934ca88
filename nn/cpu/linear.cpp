#include <algorithm>
#include <array>
#include <numeric>

#include "core/check.h"
#include "nn/cpu/direct.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/onednn.h"
#include "nn/cpu/turned_product.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

// One product over the tokens of all real samples.
class TokenLinearOp final : public Op {
 public:
  TokenLinearOp(const TokenLinear& op, const OpPlace& place)
      : tokens_(pixels_of(place.output)),
        inputs_(place.inputs[0].channels),
        outputs_(op.outputs),
        bias_(op.bias),
        products_(place.precision),
        d_weights_(outputs_, inputs_) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t rows = pass.batch.count * tokens_, all = pass.size() * tokens_;
    if (pass.renewed) products_.renew();
    products_.multiply({rows, outputs_, inputs_}, {call.inputs[0], inputs_},
                       {call.parameters[0], inputs_, onednn::Turn::yes, true}, false, call.output, outputs_);
    if (bias_) add_row({rows, outputs_, outputs_}, call.output, call.parameters[1], call.output);
    std::fill_n(call.output + rows * outputs_, (all - rows) * outputs_, 0.0F);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t rows = pass.batch.count * tokens_, all = pass.size() * tokens_;
    d_weights_.multiply(products_, rows, call.d_output, call.inputs[0], call.add, call.d_parameters[0],
                        call.workspace);
    if (bias_) sum_rows({rows, outputs_, outputs_}, call.d_output, call.add, call.d_parameters[1]);
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    products_.multiply({rows, inputs_, outputs_}, {call.d_output, outputs_},
                       {call.parameters[0], inputs_, onednn::Turn::no, true}, d_input.add, d_input.to,
                       inputs_);
    if (!d_input.add) std::fill_n(d_input.to + rows * inputs_, (all - rows) * inputs_, 0.0F);
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true, .workspace = d_weights_.scratch()}; }
  [[nodiscard]] std::uint64_t bytes() const override { return products_.bytes(); }
  [[nodiscard]] std::string implementation() const override { return products_.implementation(); }

 private:
  std::uint64_t tokens_, inputs_, outputs_;
  bool bias_;
  onednn::Products products_;
  TurnedProduct d_weights_;
};

// Lanes behind the samples are zero in gradients. Sixteen parallel sums, so that the compiler uses vectors.
float sum_of_lanes(const float* values, std::uint64_t lanes) {
  std::array<float, 16> sums{};
  for (std::uint64_t lane = 0; lane < lanes; lane += sums.size()) {
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += values[lane + i];
  }
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

// These were the fastest of the eight orders of the operands at 32 samples: outputs always in lanes, inputs
// in lanes for the forward product and as samples for the gradient of the weights. Inputs in lanes are
// therefore transposed once, which costs a few percent of what it saves. In lanes a picture lies channel by
// channel, as the weights require; as samples it arrives here only if that is the same.
class LinearOp final : public Op {
 public:
  LinearOp(const Linear& options, const OpPlace& place)
      : inputs_(place.inputs[0].size()),
        outputs_(options.outputs),
        lanes_(place.order == Order::lanes),
        bias_(options.bias),
        turned_(lanes_ ? inputs_ * place.micro_batch : 0),
        products_(precision_for(inputs_ * outputs_, place.precision)) {
    const Shape in = place.inputs[0];
    CHECK(lanes_ || in.channels == 1 || in.height * in.width == 1,
          "a picture as samples is turned to lanes before");
  }

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t lanes = pass.lanes();
    // The product is added to the biases, which also gives the lanes behind the samples finite values.
    for (std::uint64_t o = 0; o < outputs_; ++o) {
      std::fill_n(call.output + o * lanes, lanes, bias_ ? call.parameters[1][o] : 0.0F);
    }
    if (lanes_ && pass.training) {
      direct::from_lanes(flat(), pass.lanes(), pass.size(), call.inputs[0], turned_.data());
    }
    const onednn::Operand x = lanes_ ? onednn::Operand{call.inputs[0], lanes}
                                     : onednn::Operand{call.inputs[0], inputs_, onednn::Turn::yes};
    if (pass.renewed) products_.renew();
    products_.multiply({outputs_, pass.size(), inputs_}, weights(call.parameters), x, true, call.output,
                       lanes);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t lanes = pass.lanes();
    const float* samples = lanes_ ? turned_.data() : call.inputs[0];
    products_.multiply({outputs_, inputs_, pass.size()}, {call.d_output, lanes}, {samples, inputs_}, call.add,
                       call.d_parameters[0], inputs_);
    for (std::uint64_t o = 0; bias_ && o < outputs_; ++o) {
      float& d_bias = call.d_parameters[1][o];
      d_bias = sum_of_lanes(call.d_output + o * lanes, lanes) + (call.add ? d_bias : 0);
    }
    if (call.d_inputs[0].to != nullptr) backward_data(pass, weights(call.parameters), call);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = !lanes_}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return turned_.size() * sizeof(float) + products_.bytes();
  }
  [[nodiscard]] std::string implementation() const override { return products_.implementation(); }

 private:
  // Converting the factors of few weights costs more than bf16 saves: measured on a Zen 5, 10 thousand
  // weights are equally fast, 33 thousand need 0.74 of the time.
  static Precision precision_for(std::uint64_t weights, Precision wanted) {
    constexpr std::uint64_t enough = 1U << 14;
    return wanted == Precision::bf16 && weights < enough ? Precision::float32 : wanted;
  }

  [[nodiscard]] Shape flat() const { return {1, 1, static_cast<std::uint32_t>(inputs_)}; }
  [[nodiscard]] onednn::Operand weights(std::span<const float* const> parameters) const {
    return {parameters[0], inputs_, onednn::Turn::no, true};
  }

  void backward_data(const Pass& pass, onednn::Operand weights, const Backward& call) {
    const std::uint64_t lanes = pass.lanes();
    float* to = call.d_inputs[0].to;
    if (!lanes_) {
      products_.multiply({pass.size(), inputs_, outputs_}, {call.d_output, lanes, onednn::Turn::yes}, weights,
                         false, to, inputs_);
      return;
    }
    weights.turn = onednn::Turn::yes;
    products_.multiply({inputs_, pass.size(), outputs_}, weights, {call.d_output, lanes}, false, to, lanes);
    if (pass.size() == lanes) return;
    // An earlier convolution sums over all lanes.
    for (std::uint64_t i = 0; i < inputs_; ++i) {
      std::fill(to + i * lanes + pass.size(), to + (i + 1) * lanes, 0.0F);
    }
  }

  std::uint64_t inputs_, outputs_;
  bool lanes_;  // the input is in lanes
  bool bias_;
  std::vector<float> turned_;  // the input as samples, from forward() to backward()
  onednn::Products products_;
};

}  // namespace

std::unique_ptr<Op> make(const TokenLinear& op, const OpPlace& place) {
  if (place.storage == Storage::bf16) return make_stored_token_linear(op, place);
  return std::make_unique<TokenLinearOp>(op, place);
}

STEELYARD_OP(Linear, LinearOp)

}  // namespace steelyard::nn::cpu
