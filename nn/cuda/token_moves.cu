// Ops that only move tokens: sweeps of copies in each direction.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

// The places of a picture already lie in the order of its tokens: in place, there is nothing to do.
namespace {

class TokensOp final : public CudaOp {
 public:
  TokensOp(const Tokens& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context), features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    give(context_.stream, features_ * pass.size(), call.inputs[0], false, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
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
struct PutBefore : PlainColumns {
  const float *x, *token;
  float* output;
  std::uint32_t length, features;  // tokens of a sample of the output

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t row, std::uint64_t at) const {
    const std::uint32_t sample = static_cast<std::uint32_t>(row) / length;
    const bool is_first = row == std::uint64_t{sample} * length;
    const float* const from = is_first ? token + column.number : x + (at - (sample + 1ULL) * features);
    store(output + at, load<n>(from));
  }
};

// Rows are the tokens of the input.
struct TakeRest : PlainColumns {
  const float* d_output;
  float* d_x;
  std::uint32_t length, features;  // tokens of a sample of the input
  bool add;

  template <unsigned n>
  __device__ void operator()(const Column<n>&, std::uint64_t row, std::uint64_t at) const {
    const std::uint32_t sample = static_cast<std::uint32_t>(row) / length;
    store(d_x + at, load<n>(d_output + at + (sample + 1ULL) * features), add);
  }
};

// Rows are samples.
struct OfFirst {
  static constexpr unsigned sums = 1;
  const float* d_output;
  std::uint64_t sample;  // floats
  __device__ void operator()(unsigned, std::uint64_t row, std::uint32_t column, std::uint64_t,
                             float (&own)[1]) const {
    own[0] += d_output[row * sample + column];
  }
};

class ClassTokenOp final : public CudaOp {
 public:
  ClassTokenOp(const ClassToken& /*op*/, const OpPlace& place, const Context& context)
      : CudaOp(context),
        tokens_(place.inputs[0].width),
        features_(place.output.channels),
        workspace_(sums_size(rows(place.micro_batch))) {}

  void forward(const Pass& pass, const Forward& call) override {
    const PutBefore f{{}, call.inputs[0], call.parameters[0], call.output, tokens_ + 1, features_};
    sweep_columns(context_.stream, rows(std::uint64_t{pass.size()} * (tokens_ + 1)), f, f.x, f.token,
                  f.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const Runs samples = rows(pass.size());
    sum_columns(context_.stream, samples, OfFirst{call.d_output, (tokens_ + 1ULL) * features_},
                call.workspace);
    column_sums(context_.stream, call.workspace, pieces_of(samples), features_, call.add,
                call.d_parameters[0]);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const TakeRest f{{}, call.d_output, to, tokens_, features_, add};
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
struct Select : PlainColumns {
  const float* x;
  float* output;
  Selected tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t sample, std::uint64_t at) const {
    store(output + at, load<n>(x + tokens.place(sample) + column.number));
  }
};
struct AddSelected : PlainColumns {
  const float* d_output;
  float* d_x;
  Selected tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t sample, std::uint64_t at) const {
    store(d_x + tokens.place(sample) + column.number, load<n>(d_output + at), true);
  }
};

// Rows are tokens.
struct Spread : PlainColumns {
  const float* d_output;
  float* d_x;
  Selected tokens;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t row, std::uint64_t at) const {
    const std::uint64_t sample = static_cast<std::uint32_t>(row) / tokens.length;
    const bool is_selected = row == sample * tokens.length + tokens.selected;
    store(d_x + at, is_selected ? load<n>(d_output + sample * tokens.features + column.number) : Pack<n>{});
  }
};

class SelectTokenOp final : public CudaOp {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place, const Context& context)
      : CudaOp(context), tokens_{place.inputs[0].width, op.token, place.output.channels} {}

  void forward(const Pass& pass, const Forward& call) override {
    const Select f{{}, call.inputs[0], call.output, tokens_};
    sweep_columns(context_.stream, rows(pass.size()), f, f.x, f.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    if (add) {
      const AddSelected f{{}, call.d_output, to, tokens_};
      sweep_columns(context_.stream, rows(pass.size()), f, f.d_output, f.d_x);
    } else {
      const Spread f{{}, call.d_output, to, tokens_};
      sweep_columns(context_.stream, rows(std::uint64_t{pass.size()} * tokens_.length), f, f.d_output, f.d_x);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  [[nodiscard]] Runs rows(std::uint64_t number) const { return {number, number, tokens_.features}; }

  Selected tokens_;
};

}  // namespace

STEELYARD_OP_HERE(Tokens, TokensOp)
STEELYARD_OP_HERE(ClassToken, ClassTokenOp)
STEELYARD_OP_HERE(SelectToken, SelectTokenOp)

}  // namespace steelyard::nn::cuda
