// One copy for each input: bound by memory.
#include "nn/cuda/columns.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

class ConcatOp final : public Op {
 public:
  ConcatOp(const OpPlace& place, const Context& context)
      : places_(std::uint64_t{place.output.height} * place.output.width),
        channels_(place.output.channels),
        context_(context) {
    for (const Shape& in : place.inputs) parts_.push_back(in.channels);
  }

  void forward(const Pass& pass, const Forward& call) override {
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      copy_columns(context_.stream, {pass.size(), places_, parts_[i]}, call.inputs[i], parts_[i], false,
                   call.output + begin, channels_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i < parts_.size(); begin += parts_[i++]) {
      const auto [to, add] = call.d_inputs[i];
      if (to == nullptr) continue;
      copy_columns(context_.stream, {pass.size(), places_, parts_[i]}, call.d_output + begin, channels_, add,
                   to, parts_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t places_;
  std::uint32_t channels_;
  std::vector<std::uint32_t> parts_;  // channels of each input
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const Concat& /*op*/, const OpPlace& place, const Context& context) {
  return std::make_unique<ConcatOp>(place, context);
}

}  // namespace steelyard::nn::cuda
