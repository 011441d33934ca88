// An activation of the product of a linear layer and its bias. In backward it has each gradient in registers
// when it writes it, and sums that of the bias there; a linear layer reads it once more for these sums.
#include "nn/cuda/activation_kinds.h"
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

template <class Kind, class T>
struct BiasedValue {
  const float* bias;
  const T* in;
  T* out;
  template <unsigned n>
  __device__ Pack<n> of_column(unsigned, std::uint32_t column) const {
    return load_anywhere<n>(bias + column);
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& shift, std::uint64_t, std::uint64_t at) const {
    Pack<n> values = load<n>(in + at);
    for (unsigned k = 0; k < n; ++k) values.x[k] = Kind::value(values.x[k] + shift.x[k]);
    store(out + at, values);
  }
};

// The sums are those of the gradients as they are stored.
template <class Kind, class T>
struct BiasedGradient {
  static constexpr unsigned sums = 1;
  const float* bias;
  const T *kept, *d_output;  // kept: the input without the bias, or the output
  T* to;                     // may be null, or d_output
  template <unsigned n>
  __device__ Pack<n> of_column(unsigned, std::uint32_t column) const {
    return Kind::by_input ? load_anywhere<n>(bias + column) : Pack<n>{};
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& shift, std::uint64_t, std::uint64_t at, Pack<n> (&own)[1]) const {
    const Pack<n> values = load<n>(kept + at), d = load<n>(d_output + at);
    Pack<n> slopes;
    for (unsigned k = 0; k < n; ++k)
      slopes.x[k] = Kind::gradient(Kind::by_input ? values.x[k] + shift.x[k] : values.x[k], d.x[k]);
    slopes = as_stored<T>(slopes);
    if (to != nullptr) store(to + at, slopes);
    for (unsigned k = 0; k < n; ++k) own[0].x[k] += slopes.x[k];
  }
};

template <class Kind, class T>
class BiasedActivationOp final : public CudaOp {
 public:
  BiasedActivationOp(const OpPlace& place, const Context& context)
      : CudaOp(context),
        tokens_(pixels_of(place.output)),
        features_(place.output.channels),
        workspace_(sums_size(runs(place.micro_batch))) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const T* const in = call.inputs[0];
    const float* const bias = call.parameters[0];
    sweep_columns(context_.stream, runs(pass.size()), BiasedValue<Kind, T>{bias, in, call.output}, in,
                  call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const Runs all = runs(pass.size());
    const T* const kept = Kind::by_input ? call.inputs[0] : call.output;
    const float* const bias = call.parameters[0];
    T* const to = call.d_inputs[0].to;
    sum_packs(context_.stream, all, BiasedGradient<Kind, T>{bias, kept, call.d_output, to}, call.workspace,
              kept, call.d_output, to);
    column_sums(context_.stream, call.workspace, pieces_of(all), features_, call.add, call.d_parameters[0]);
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = !Kind::by_input,
            .d_in_place = true,
            .reads_inputs = Kind::by_input,
            .reads_output = !Kind::by_input,
            .workspace = workspace_};
  }
  [[nodiscard]] std::string implementation() const override { return "cuda with bias"; }

 private:
  [[nodiscard]] Runs runs(std::uint32_t samples) const {
    return {samples * tokens_, samples * tokens_, features_};
  }

  std::uint64_t tokens_;
  std::uint32_t features_;
  std::uint64_t workspace_;
};

}  // namespace

std::unique_ptr<Op> make_biased_activation(const Activation& op, const OpPlace& place,
                                           const Context& context) {
  return of_activation(op.kind, place.storage, [&](auto kind, auto number) -> std::unique_ptr<Op> {
    return std::make_unique<BiasedActivationOp<decltype(kind), decltype(number)>>(place, context);
  });
}

}  // namespace steelyard::nn::cuda
