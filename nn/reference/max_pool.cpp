#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/reference/ops.h"
#include "nn/reference/pool.h"

namespace steelyard::nn::reference {
namespace {

class MaxPoolOp final : public Op {
 public:
  MaxPoolOp(const MaxPool& op, const OpPlace& place)
      : windows_{place.inputs[0], place.output, op.size, op.stride, op.padding} {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::vector<std::uint64_t> best = greatest(pass, call.inputs[0]);
    for (std::uint64_t i = 0; i < best.size(); ++i) call.output[i] = call.inputs[0][best[i]];
  }

  void backward(const Pass& pass, const Backward& call) override {
    float* d_input = call.d_inputs[0].to;
    if (d_input == nullptr) return;
    std::fill_n(d_input, windows_.in.size() * pass.size(), 0.0F);
    const std::vector<std::uint64_t> best = greatest(pass, call.inputs[0]);
    for (std::uint64_t i = 0; i < best.size(); ++i) d_input[best[i]] += call.d_output[i];
  }

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  // Where the greatest of each window is: the first of several, or the first NaN.
  [[nodiscard]] std::vector<std::uint64_t> greatest(const Pass& pass, const float* input) const {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    std::vector<std::uint64_t> best(windows_.out.size() * pass.size(), none);
    windows_.each(pass.size(), [&](std::uint64_t to, std::uint64_t from) {
      const bool is_nan = best[to] != none && std::isnan(input[best[to]]);
      if (best[to] == none || (!is_nan && !(input[from] <= input[best[to]]))) best[to] = from;
    });
    return best;
  }

  Windows windows_;
};

}  // namespace

std::unique_ptr<Op> make(const MaxPool& op, const OpPlace& place) {
  return std::make_unique<MaxPoolOp>(op, place);
}

}  // namespace steelyard::nn::reference
