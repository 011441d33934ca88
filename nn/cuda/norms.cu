// Norms of tokens and of groups of channels: bound by memory. Batch norm is in batch_norm.cu.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned warps = 4;  // per block: each has a token, or a group

// Layer norm: a warp takes a token, reads it twice (the second time from the cache) and writes it once; mean
// and reciprocal deviation are kept. Backward reads input and gradient in two sweeps, one by columns for the
// parameters and one by tokens. With g = d_output weight, y = (x - mean) r and n features:
//   d_x = r (g - sum g / n - y sum g y / n)

// Mean and reciprocal deviation of a token, in float2. The variance is computed after subtracting the first
// feature, so that a mean far from zero costs no precision.
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

struct SumsOfTokens {
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

class LayerNormOp final : public CudaOp {
 public:
  LayerNormOp(const LayerNorm& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        epsilon_(static_cast<float>(op.epsilon)),
        tokens_(pixels_of(place.output)),
        features_(place.output.channels),
        workspace_(SumsOfTokens::sums * sums_size(runs(place.micro_batch))),
        statistics_(tokens_ * place.micro_batch) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t tokens = pass.size() * tokens_;
    launch(context_.stream, groups_of(tokens, warps), {32, warps}, &normalize, call.inputs[0], tokens,
           features_, epsilon_, call.parameters[0], call.parameters[1], call.output, statistics_.data());
  }

  void backward(const Pass& pass, const Backward& call) override {
    const Runs all = runs(pass.size());
    sum_columns(context_.stream, all, SumsOfTokens{call.inputs[0], call.d_output, statistics_.data()},
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

 private:
  [[nodiscard]] Runs runs(std::uint32_t samples) const {
    return {samples * tokens_, samples * tokens_, features_};
  }

  float epsilon_;
  std::uint64_t tokens_;
  std::uint32_t features_;
  std::uint64_t workspace_;
  DeviceArray<float2> statistics_;
};

// Group norm: forward reads the input twice, backward input and gradient twice. Sums are taken by channels
// and pieces of a sample (sum_columns), and a warp adds up those of a group. With g = d_output weight, y = (x
// - mean) r and N numbers in a group:
//   d_x = r (g - sum g / N - y sum g y / N)

struct Groups {
  std::uint32_t number, length, channels;
  std::uint64_t pixels;

  [[nodiscard]] __device__ std::uint64_t set(unsigned sample, std::uint32_t channel) const {
    return std::uint64_t{sample} * number + channel / length;
  }
  // The place of a group's first number, which is subtracted before squaring, so that a mean far from zero
  // costs no precision.
  [[nodiscard]] __device__ std::uint64_t first(unsigned sample, std::uint32_t group) const {
    return sample * pixels * channels + std::uint64_t{group} * length;
  }
  [[nodiscard]] __device__ double numbers() const { return static_cast<double>(pixels * length); }
};

struct Measure {
  static constexpr unsigned sums = 2;
  const float* x;
  Groups groups;
  __device__ void operator()(unsigned sample, std::uint64_t, std::uint32_t channel, std::uint64_t at,
                             float (&own)[2]) const {
    const float away = x[at] - x[groups.first(sample, channel / groups.length)];
    own[0] += away;
    own[1] += away * away;
  }
};

struct SumsOfGroups {
  static constexpr unsigned sums = 2;
  const float *x, *d_output;
  const float2* statistics;  // mean and r
  Groups groups;
  __device__ void operator()(unsigned sample, std::uint64_t, std::uint32_t channel, std::uint64_t at,
                             float (&own)[2]) const {
    const float2 of_group = statistics[groups.set(sample, channel)];
    own[0] += d_output[at] * ((x[at] - of_group.x) * of_group.y);
    own[1] += d_output[at];
  }
};

struct TwoSums {
  double first, second;
};

// Sums of a sample's group over its channels, weighted unless `weight` is null, and pieces; by a warp.
__device__ TwoSums over_group(const Groups& groups, unsigned sample, std::uint32_t group, unsigned pieces,
                              const float* partials, const float* weight) {
  const std::uint64_t size = std::uint64_t{gridDim.y} * pieces * groups.channels;
  TwoSums sums{0, 0};
  for (unsigned i = threadIdx.x; i < pieces * groups.length; i += 32) {
    const std::uint32_t channel = group * groups.length + i % groups.length;
    const std::uint64_t piece = std::uint64_t{sample} * pieces + i / groups.length;
    const std::uint64_t at = piece * groups.channels + channel;
    const double factor = weight == nullptr ? 1 : weight[channel];
    sums.first += factor * partials[at];
    sums.second += factor * partials[size + at];
  }
  for (unsigned mask = 16; mask > 0; mask /= 2) {
    sums.first += __shfl_xor_sync(all_lanes, sums.first, mask);
    sums.second += __shfl_xor_sync(all_lanes, sums.second, mask);
  }
  return sums;
}

__global__ void finish_statistics(const float* x, Groups groups, unsigned pieces, float epsilon,
                                  const float* partials, float2* statistics) {
  const std::uint32_t group = blockIdx.x * warps + threadIdx.y, sample = blockIdx.y;
  if (group >= groups.number) return;
  const TwoSums sums = over_group(groups, sample, group, pieces, partials, nullptr);
  if (threadIdx.x != 0) return;
  const double moved = sums.first / groups.numbers();
  const auto variance = static_cast<float>(sums.second / groups.numbers() - moved * moved);
  statistics[std::uint64_t{sample} * groups.number + group] = {
      static_cast<float>(x[groups.first(sample, group)] + moved),
      1 / sqrtf((variance < 0 ? 0 : variance) + epsilon)};
}

// The means of g and of g y.
__global__ void finish_gradients(Groups groups, unsigned pieces, const float* partials, const float* weight,
                                 float2* means) {
  const std::uint32_t group = blockIdx.x * warps + threadIdx.y, sample = blockIdx.y;
  if (group >= groups.number) return;
  const TwoSums sums = over_group(groups, sample, group, pieces, partials, weight);
  if (threadIdx.x != 0) return;
  means[std::uint64_t{sample} * groups.number + group] = {static_cast<float>(sums.second / groups.numbers()),
                                                          static_cast<float>(sums.first / groups.numbers())};
}

struct Normalize {
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, scale, bias;
  };
  const float* x;
  float* output;
  const float2* statistics;
  const float *weight, *bias;
  Groups groups;

  template <unsigned n>
  __device__ OfColumn<n> of_column(unsigned sample, std::uint32_t channel) const {
    OfColumn<n> of;
    for (unsigned i = 0; i < n; ++i) {
      const float2 of_group = statistics[groups.set(sample, channel + i)];
      of.mean.x[i] = of_group.x;
      of.scale.x[i] = of_group.y * weight[channel + i];
      of.bias.x[i] = bias[channel + i];
    }
    return of;
  }
  template <unsigned n>
  __device__ void operator()(const OfColumn<n>& of, std::uint64_t, std::uint64_t at) const {
    Pack<n> values = load<n>(x + at);
    for (unsigned i = 0; i < n; ++i)
      values.x[i] = (values.x[i] - of.mean.x[i]) * of.scale.x[i] + of.bias.x[i];
    store(output + at, values);
  }
};

struct InputGradients {
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, reciprocal, weight, constant, by_y;
  };
  const float *x, *d_output;
  float* d_x;
  const float2 *statistics, *means;
  const float* weight;
  Groups groups;
  bool add;

  template <unsigned n>
  __device__ OfColumn<n> of_column(unsigned sample, std::uint32_t channel) const {
    OfColumn<n> of;
    for (unsigned i = 0; i < n; ++i) {
      const std::uint64_t set = groups.set(sample, channel + i);
      of.mean.x[i] = statistics[set].x;
      of.reciprocal.x[i] = statistics[set].y;
      of.weight.x[i] = weight[channel + i];
      of.constant.x[i] = means[set].x;
      of.by_y.x[i] = means[set].y;
    }
    return of;
  }
  template <unsigned n>
  __device__ void operator()(const OfColumn<n>& of, std::uint64_t, std::uint64_t at) const {
    const Pack<n> g = load<n>(d_output + at), values = load<n>(x + at);
    Pack<n> to;
    for (unsigned i = 0; i < n; ++i) {
      const float y = (values.x[i] - of.mean.x[i]) * of.reciprocal.x[i];
      to.x[i] = of.reciprocal.x[i] * (g.x[i] * of.weight.x[i] - of.constant.x[i] - y * of.by_y.x[i]);
    }
    store(d_x + at, to, add);
  }
};

class GroupNormOp final : public CudaOp {
 public:
  GroupNormOp(const GroupNorm& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        epsilon_(static_cast<float>(op.epsilon)),
        groups_{op.groups, place.output.channels / op.groups, place.output.channels, pixels_of(place.output)},
        workspace_(2 * sums_size(runs(place.micro_batch))),
        statistics_(std::uint64_t{place.micro_batch} * op.groups),
        means_(statistics_.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    const Runs samples = runs(pass.size());
    const float* const x = call.inputs[0];
    sum_columns(context_.stream, samples, Measure{x, groups_}, call.workspace);
    launch(context_.stream, blocks(pass), {32, warps}, &finish_statistics, x, groups_, pieces_of(samples),
           epsilon_, call.workspace, statistics_.data());
    const Normalize f{x, call.output, statistics_.data(), call.parameters[0], call.parameters[1], groups_};
    sweep_columns(context_.stream, samples, f, f.x, f.output);
  }

  // Padded samples need no special case: a gradient of zeros gives zeros.
  void backward(const Pass& pass, const Backward& call) override {
    const Runs samples = runs(pass.size());
    sum_columns(context_.stream, samples,
                SumsOfGroups{call.inputs[0], call.d_output, statistics_.data(), groups_}, call.workspace);
    for (unsigned p = 0; p < 2; ++p) {
      column_sums(context_.stream, call.workspace + p * sums_size(samples),
                  std::uint64_t{samples.count()} * pieces_of(samples), groups_.channels, call.add,
                  call.d_parameters[p]);
    }
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch(context_.stream, blocks(pass), {32, warps}, &finish_gradients, groups_, pieces_of(samples),
           call.workspace, call.parameters[0], means_.data());
    const InputGradients f{call.inputs[0], call.d_output,      to,      statistics_.data(),
                           means_.data(),  call.parameters[0], groups_, add};
    sweep_columns(context_.stream, samples, f, f.x, f.d_output, f.d_x);
  }

  [[nodiscard]] Traits traits() const override {
    return {.d_in_place = true, .adds = true, .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override {
    return (statistics_.size() + means_.size()) * sizeof(float2);
  }

 private:
  [[nodiscard]] Runs runs(std::uint32_t samples) const {
    return {samples * groups_.pixels, groups_.pixels, groups_.channels};
  }
  [[nodiscard]] Extent blocks(const Pass& pass) const {
    return {groups_of(groups_.number, warps), pass.size()};
  }

  float epsilon_;
  Groups groups_;
  std::uint64_t workspace_;
  DeviceArray<float2> statistics_, means_;
};

}  // namespace

STEELYARD_OP_HERE(LayerNorm, LayerNormOp)
STEELYARD_OP_HERE(GroupNorm, GroupNormOp)

}  // namespace steelyard::nn::cuda
