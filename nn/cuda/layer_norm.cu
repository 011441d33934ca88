// Layer norm: bound by memory. A warp takes a token, reads it twice (the second time from the cache) and
// writes it once; mean and reciprocal deviation are kept. Backward reads input and gradient in two sweeps,
// one by columns for the parameters and one by tokens. With g = d_output weight, y = (x - mean) r and n
// features:
//   d_x = r (g - sum g / n - y sum g y / n)
#include "nn/cuda/by_columns.h"
#include "nn/cuda/column_sums.h"
#include "nn/cuda/ops.h"
#include "nn/cuda/reduce.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned warps = 4;  // tokens of a block

// Mean and reciprocal deviation of a token, in float2. The variance is found from what is left after the
// first feature is subtracted, so that a mean far from zero costs no digits.
__global__ void normalize(const float* x, std::uint64_t tokens, std::uint32_t features, float epsilon,
                          const float* weight, const float* bias, float* out, float2* statistics) {
  const std::uint64_t token = std::uint64_t{blockIdx.x} * warps + threadIdx.y;
  if (token >= tokens) return;
  const float* const row = x + token * features;
  const float first = row[0], n = static_cast<float>(features);
  float sum = 0, squares = 0;
  for (std::uint32_t f = threadIdx.x; f < features; f += 32) {
    const float away = row[f] - first;
    sum += away;
    squares += away * away;
  }
  const float moved = warp_sum(sum) / n;
  const float variance = fmaxf(warp_sum(squares) / n - moved * moved, 0);
  const float mean = first + moved, reciprocal = 1 / sqrtf(variance + epsilon);
  if (threadIdx.x == 0) statistics[token] = {mean, reciprocal};
  for (std::uint32_t f = threadIdx.x; f < features; f += 32)
    out[token * features + f] = (row[f] - mean) * reciprocal * weight[f] + bias[f];
}

struct ParameterSums {
  static constexpr unsigned sums = 2;
  const float *x, *d_output;
  const float2* statistics;
  __device__ void operator()(unsigned, std::uint64_t row, std::uint32_t, std::uint64_t at,
                             float (&own)[2]) const {
    const float2 of_token = statistics[row];
    own[0] += d_output[at] * ((x[at] - of_token.x) * of_token.y);
    own[1] += d_output[at];
  }
};

__global__ void gradient(const float* x, std::uint64_t tokens, std::uint32_t features, const float* weight,
                         const float2* statistics, const float* d_output, bool add, float* d_x) {
  const std::uint64_t token = std::uint64_t{blockIdx.x} * warps + threadIdx.y;
  if (token >= tokens) return;
  const float mean = statistics[token].x, reciprocal = statistics[token].y;
  const float n = static_cast<float>(features);
  float sum = 0, dot = 0;
  for (std::uint32_t f = threadIdx.x; f < features; f += 32) {
    const float g = d_output[token * features + f] * weight[f];
    sum += g;
    dot += g * ((x[token * features + f] - mean) * reciprocal);
  }
  sum = warp_sum(sum) / n;
  dot = warp_sum(dot) / n;
  for (std::uint32_t f = threadIdx.x; f < features; f += 32) {
    const std::uint64_t at = token * features + f;
    const float y = (x[at] - mean) * reciprocal;
    const float value = reciprocal * (d_output[at] * weight[f] - sum - y * dot);
    d_x[at] = add ? d_x[at] + value : value;
  }
}

class LayerNormOp final : public Op {
 public:
  LayerNormOp(const LayerNorm& op, const OpPlace& place, const Context& context)
      : epsilon_(static_cast<float>(op.epsilon)),
        tokens_(std::uint64_t{place.output.height} * place.output.width),
        features_(place.output.channels),
        workspace_(ParameterSums::sums * sums_size(runs(place.micro_batch))),
        statistics_(tokens_ * place.micro_batch),
        context_(context) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t tokens = pass.size() * tokens_;
    launch(context_.stream, groups_of(tokens, warps), {32, warps}, &normalize, call.inputs[0], tokens,
           features_, epsilon_, call.parameters[0], call.parameters[1], call.output, statistics_.data());
  }

  void backward(const Pass& pass, const Backward& call) override {
    const Runs all = runs(pass.size());
    sum_columns(context_.stream, all, ParameterSums{call.inputs[0], call.d_output, statistics_.data()},
                call.workspace);
    for (unsigned p = 0; p < 2; ++p) {
      column_sums(context_.stream, call.workspace + p * sums_size(all), pieces_of(all), features_, call.add,
                  call.d_parameters[p]);
    }
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch(context_.stream, groups_of(all.rows, warps), {32, warps}, &gradient, call.inputs[0], all.rows,
           features_, call.parameters[0], statistics_.data(), call.d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.d_in_place = true, .adds = true, .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return statistics_.size() * sizeof(float2); }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  [[nodiscard]] Runs runs(std::uint32_t samples) const {
    return {samples * tokens_, samples * tokens_, features_};
  }

  float epsilon_;
  std::uint64_t tokens_;
  std::uint32_t features_;
  std::uint64_t workspace_;
  DeviceArray<float2> statistics_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const LayerNorm& op, const OpPlace& place, const Context& context) {
  return std::make_unique<LayerNormOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
