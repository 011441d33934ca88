// Casts between the storages of activations, which the planner inserts: bound by memory.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"

namespace steelyard::nn::cuda {
namespace {

template <class From, class To>
class CastOp final : public CudaOp {
 public:
  CastOp(const OpPlace& place, const Context& context) : CudaOp(context), features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    cast(context_.stream, features_ * pass.size(), ForwardOf<From>(untyped).inputs[0], false,
         ForwardOf<To>(untyped).output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const auto [to, add] = BackwardOf<From>(untyped).d_inputs[0];
    if (to == nullptr) return;
    const To* const d_output = BackwardOf<To>(untyped).d_output;
    cast(context_.stream, features_ * pass.size(), d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint64_t features_;
};

}  // namespace

std::unique_ptr<Op> make_cast(const OpPlace& place, const Context& context) {
  if (place.storage == Storage::bf16) return std::make_unique<CastOp<float, Bf16>>(place, context);
  return std::make_unique<CastOp<Bf16, float>>(place, context);
}

}  // namespace steelyard::nn::cuda
