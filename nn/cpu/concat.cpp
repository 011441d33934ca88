#include <vector>

#include "core/check.h"
#include "nn/cpu/leveled.h"
#include "nn/cpu/ops.h"
#include "nn/cpu/rows_kernels.h"

namespace steelyard::nn::cpu {
namespace {

class ConcatOp final : public Op {
 public:
  explicit ConcatOp(const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::rows, v3::rows, v4::rows)),
        pixels_(std::size_t{place.output.height} * place.output.width),
        channels_(place.output.channels) {
    for (const Shape& in : place.inputs) parts_.push_back(in.channels);
  }

  void forward(const Pass& pass, const Forward& call) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      kernels_.copy(pass.size() * pixels_, parts_[i], call.inputs[i], parts_[i], call.output + begin,
                    channels_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      const InputGradient d_input = call.d_inputs[i];
      if (d_input.to == nullptr) continue;
      const auto kernel = d_input.add ? kernels_.add : kernels_.copy;
      kernel(pass.size() * pixels_, parts_[i], call.d_output + begin, channels_, d_input.to, parts_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  const RowsTable& kernels_;
  std::size_t pixels_, channels_;
  std::vector<std::size_t> parts_;  // channels of each input
};

}  // namespace

std::unique_ptr<Op> make(const Concat& /*op*/, const OpPlace& place) {
  CHECK(place.order == Order::samples, "channels are joined in the order of samples");
  return std::make_unique<ConcatOp>(place);
}

}  // namespace steelyard::nn::cpu
