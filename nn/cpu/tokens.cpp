#include <algorithm>

#include "nn/cpu/ops.h"
#include "nn/cpu/row_sums.h"

namespace steelyard::nn::cpu {
namespace {

// The places of a picture already lie in the order of its tokens, whatever the order of the buffers: in
// place, nothing is to be done.
class TokensOp final : public Op {
 public:
  explicit TokensOp(const OpPlace& place) : size_(place.output.size()), order_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    if (call.output == call.inputs[0]) return;
    std::copy_n(call.inputs[0], pass.places(order_) * size_, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr || d_input.to == call.d_output) return;
    const std::uint64_t all = pass.places(order_) * size_;
    if (d_input.add) return add_row({1, all, all}, d_input.to, call.d_output, d_input.to);
    std::copy_n(call.d_output, all, d_input.to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "none"; }

 private:
  std::uint64_t size_;
  Order order_;
};

}  // namespace

std::unique_ptr<Op> make(const Tokens&, const OpPlace& place) { return std::make_unique<TokensOp>(place); }

}  // namespace steelyard::nn::cpu
