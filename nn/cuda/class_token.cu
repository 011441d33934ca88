// A learned token before each sequence: one sweep of copies in each direction, and a sum over the samples.
#include "nn/cuda/by_columns.h"
#include "nn/cuda/column_sums.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

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

class ClassTokenOp final : public Op {
 public:
  ClassTokenOp(const OpPlace& place, const Context& context)
      : tokens_(place.inputs[0].width),
        features_(place.output.channels),
        workspace_(sums_size(rows(place.micro_batch))),
        context_(context) {}

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
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  [[nodiscard]] Runs rows(std::uint64_t number) const { return {number, number, features_}; }

  std::uint32_t tokens_, features_;
  std::uint64_t workspace_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const ClassToken&, const OpPlace& place, const Context& context) {
  return std::make_unique<ClassTokenOp>(place, context);
}

}  // namespace steelyard::nn::cuda
