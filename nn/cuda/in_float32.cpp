#include "nn/cuda/in_float32.h"

#include <string>
#include <utility>
#include <vector>

#include "nn/cuda/array_kernels.h"

namespace steelyard::nn::cuda {
namespace {

class InFloat32 final : public CudaOp {
 public:
  InFloat32(const OpPlace& place, const Context& context, std::unique_ptr<Op> op)
      : CudaOp(context),
        place_(place),
        op_(std::move(op)),
        inner_(op_->traits()),
        workspace_(whole_packs(inner_.workspace)) {
    for (const Shape& shape : place.inputs) inputs_.push_back(taken(shape));
    for (const Shape& shape : place.inputs) d_inputs_.push_back(taken(shape));
    output_ = taken(place.output);
    d_output_ = taken(place.output);
  }

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<Bf16> call(untyped);
    const std::vector<const float*> inputs = cast_inputs(pass, call.inputs, call.workspace);
    float* const output = call.workspace + output_;
    op_->forward(pass, {inputs, call.parameters, output, call.workspace});
    cast(context_.stream, size_of(place_.output, pass), output, false, call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<Bf16> call(untyped);
    std::vector<const float*> inputs(place_.inputs.size());
    if (inner_.reads_inputs) inputs = cast_inputs(pass, call.inputs, call.workspace);
    float *const output = call.workspace + output_, *const d_output = call.workspace + d_output_;
    if (inner_.reads_output) cast(context_.stream, size_of(place_.output, pass), call.output, false, output);
    cast(context_.stream, size_of(place_.output, pass), std::as_const(call.d_output), false, d_output);
    std::vector<InputGradient> to;
    for (std::size_t i = 0; i < d_inputs_.size(); ++i)
      to.push_back({call.d_inputs[i].to == nullptr ? nullptr : call.workspace + d_inputs_[i]});
    op_->backward(
        pass, {inputs, call.parameters, output, d_output, to, call.d_parameters, call.add, call.workspace});
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (to[i].to == nullptr) continue;
      const auto [d_input, add] = call.d_inputs[i];
      cast(context_.stream, size_of(place_.inputs[i], pass), to[i].to, add, d_input);
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.reads_inputs = inner_.reads_inputs,
            .reads_output = inner_.reads_output,
            .adds = true,
            .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return op_->bytes(); }
  [[nodiscard]] std::string implementation() const override { return op_->implementation() + " in float32"; }

 private:
  static std::uint64_t whole_packs(std::uint64_t floats) { return (floats + 3) / 4 * 4; }
  static std::uint64_t size_of(Shape shape, const Pass& pass) { return shape.size() * pass.size(); }

  // The place of an activation in the workspace.
  std::uint64_t taken(Shape shape) {
    const std::uint64_t at = workspace_;
    workspace_ += whole_packs(shape.size() * place_.micro_batch);
    return at;
  }

  std::vector<const float*> cast_inputs(const Pass& pass, const AddressesOf<Bf16>& from,
                                        float* workspace) const {
    std::vector<const float*> all;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      float* const to = workspace + inputs_[i];
      cast(context_.stream, size_of(place_.inputs[i], pass), from[i], false, to);
      all.push_back(to);
    }
    return all;
  }

  const OpPlace place_;
  const std::unique_ptr<Op> op_;
  const Traits inner_;
  std::uint64_t workspace_;                       // floats
  std::vector<std::uint64_t> inputs_, d_inputs_;  // places in the workspace
  std::uint64_t output_ = 0, d_output_ = 0;
};

}  // namespace

std::unique_ptr<Op> in_float32(const OpPlace& place, const Context& context,
                               const std::function<std::unique_ptr<Op>(const OpPlace& place)>& make) {
  OpPlace inner = place;
  inner.storage = Storage::float32;
  return std::make_unique<InFloat32>(place, context, make(inner));
}

}  // namespace steelyard::nn::cuda
