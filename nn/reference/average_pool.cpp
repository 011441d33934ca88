#include <vector>

#include "nn/reference/ops.h"
#include "nn/reference/pool.h"

namespace steelyard::nn::reference {
namespace {

class AveragePoolOp final : public Op {
 public:
  AveragePoolOp(const AveragePool& op, const OpPlace& place)
      : windows_{place.inputs[0], place.output, op.size, op.stride, op.padding},
        share_(1.0 / (double{1} * op.size * op.size)) {}

  void forward(const Pass& pass, const Forward& call) override {
    std::vector<double> sums(windows_.out.size() * pass.size());
    windows_.each(pass.size(),
                  [&](std::uint64_t to, std::uint64_t from) { sums[to] += call.inputs[0][from] * share_; });
    for (std::uint64_t i = 0; i < sums.size(); ++i) call.output[i] = static_cast<float>(sums[i]);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    std::vector<double> sums(windows_.in.size() * pass.size());
    windows_.each(pass.size(),
                  [&](std::uint64_t to, std::uint64_t from) { sums[from] += call.d_output[to] * share_; });
    for (std::uint64_t i = 0; i < sums.size(); ++i) call.d_inputs[0].to[i] = static_cast<float>(sums[i]);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  Windows windows_;
  double share_;
};

}  // namespace

std::unique_ptr<Op> make(const AveragePool& op, const OpPlace& place) {
  return std::make_unique<AveragePoolOp>(op, place);
}

}  // namespace steelyard::nn::reference
