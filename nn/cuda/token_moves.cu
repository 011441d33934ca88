// Ops that only move tokens: sweeps of copies in each direction.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

// The places of a picture already lie in the order of its tokens: in place, there is nothing to do.
namespace {

template <class T>
class TokensOp final : public CudaOp {
 public:
  TokensOp(const Tokens& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context), features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    give(context_.stream, features_ * pass.size(), call.inputs[0], false, call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to != nullptr) give(context_.stream, features_ * pass.size(), call.d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override { return in_place_traits; }
  [[nodiscard]] std::string implementation() const override { return "none"; }

 private:
  std::uint64_t features_;
};

// A learned token before each sequence: one sweep of copies in each direction, and a sum over the samples.

// Rows are the tokens of the output.
template <class T>
struct PutBefore : PlainColumns {
  const T* x;
  const float* token;
  T* output;
  std::uint32_t length, features;  // tokens of a sample of the output

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t row, std::uint64_t at) const {
    const std::uint32_t sample = static_cast<std::uint32_t>(row) / length;
    const bool is_first = row == std::uint64_t{sample} * length;
    store(output + at,
          is_first ? load<n>(token + column.number) : load<n>(x + (at - (sample + 1ULL) * features)));
  }
};

// Rows are the tokens of the input.
template <class T>
struct TakeRest : PlainColumns {
  const T* d_output;
  T* d_x;
  std::uint32_t length, features;  // tokens of a sample of the input
  bool add;

  template <unsigned n>
  __device__ void operator()(const Column<n>&, std::uint64_t row, std::uint64_t at) const {
    const std::uint32_t sample = static_cast<std::uint32_t>(row) / length;
    store(d_x + at, load<n>(d_output + at + (sample + 1ULL) * features), add);
  }
};

// Rows are samples.
template <class T>
struct OfFirst : PlainColumns {
  static constexpr unsigned sums = 1;
  const T* d_output;
  std::uint64_t sample;  // numbers

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t row, std::uint64_t,
                             Pack<n> (&own)[1]) const {
    const Pack<n> values = load<n>(d_output + row * sample + column.number);
    for (unsigned k = 0; k < n; ++k) own[0].x[k] += values.x[k];
  }
};

template <class T>
class ClassTokenOp final : public CudaOp {
 public:
  ClassTokenOp(const ClassToken& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context),
        tokens_(place.inputs[0].width),
        features_(place.output.channels),
        workspace_(sums_size(rows(place.micro_batch))) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const PutBefore<T> f{{}, call.inputs[0], call.parameters[0], call.output, tokens_ + 1, features_};
    sweep_columns(context_.stream, rows(std::uint64_t{pass.size()} * (tokens_ + 1)), f, f.x, f.token,
                  f.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const Runs samples = rows(pass.size());
    const OfFirst<T> first{{}, call.d_output, (tokens_ + 1ULL) * features_};
    sum_packs(context_.stream, samples, first, call.workspace, first.d_output);
    column_sums(context_.stream, call.workspace, pieces_of(samples), features_, call.add,
                call.d_parameters[0]);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const TakeRest<T> f{{}, call.d_output, to, tokens_, features_, add};
    sweep_columns(context_.stream, rows(std::uint64_t{pass.size()} * tokens_), f, f.d_output, f.d_x);
  }

  [[nodiscard]] Traits traits() const override {
    return {.reads_inputs = false, .adds = true, .workspace = workspace_};
  }

 private:
  [[nodiscard]] Runs rows(std::uint64_t number) const { return {number, number, features_}; }

  std::uint32_t tokens_, features_;
  std::uint64_t workspace_;
};

// One token of each sample: a sweep of copies in each direction.

struct Selected {
  std::uint32_t length, selected, features;

  // Begin of the selected token of this sample.
  __device__ std::uint64_t place(std::uint64_t sample) const {
    return (sample * length + selected) * features;
  }
};

// Rows are samples.
template <class T>
struct Select : PlainColumns {
  const T* x;
  T* output;
  Selected tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t sample, std::uint64_t at) const {
    store(output + at, load<n>(x + tokens.place(sample) + column.number));
  }
};
template <class T>
struct AddSelected : PlainColumns {
  const T* d_output;
  T* d_x;
  Selected tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t sample, std::uint64_t at) const {
    store(d_x + tokens.place(sample) + column.number, load<n>(d_output + at), true);
  }
};

// Rows are tokens.
template <class T>
struct Spread : PlainColumns {
  const T* d_output;
  T* d_x;
  Selected tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t row, std::uint64_t at) const {
    const std::uint64_t sample = static_cast<std::uint32_t>(row) / tokens.length;
    const bool is_selected = row == sample * tokens.length + tokens.selected;
    store(d_x + at, is_selected ? load<n>(d_output + sample * tokens.features + column.number) : Pack<n>{});
  }
};

template <class T>
class SelectTokenOp final : public CudaOp {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place, const Context& context)
      : CudaOp(context), tokens_{place.inputs[0].width, op.token, place.output.channels} {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const Select<T> f{{}, call.inputs[0], call.output, tokens_};
    sweep_columns(context_.stream, rows(pass.size()), f, f.x, f.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    if (add) {
      const AddSelected<T> f{{}, call.d_output, to, tokens_};
      sweep_columns(context_.stream, rows(pass.size()), f, f.d_output, f.d_x);
    } else {
      const Spread<T> f{{}, call.d_output, to, tokens_};
      sweep_columns(context_.stream, rows(std::uint64_t{pass.size()} * tokens_.length), f, f.d_output, f.d_x);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  [[nodiscard]] Runs rows(std::uint64_t number) const { return {number, number, tokens_.features}; }

  Selected tokens_;
};

}  // namespace

STEELYARD_STORED_OP(Tokens, TokensOp)
STEELYARD_STORED_OP(ClassToken, ClassTokenOp)
STEELYARD_STORED_OP(SelectToken, SelectTokenOp)

}  // namespace steelyard::nn::cuda
