// Norms of groups of a sample's channels: bound by memory.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned warps = 4;  // per block: each has a group

// Group norm: forward reads the input twice, backward input and gradient twice. Sums are taken by channels
// and pieces of a sample (sum_packs), and a warp adds up those of a group. With g = d_output weight, y = (x
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

template <class T>
struct Measure {
  static constexpr unsigned sums = 2;
  const T* x;
  Groups groups;

  template <unsigned n>
  __device__ Pack<n> of_column(unsigned sample, std::uint32_t channel) const {
    Pack<n> first;
    for (unsigned i = 0; i < n; ++i) first.x[i] = x[groups.first(sample, (channel + i) / groups.length)];
    return first;
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& first, std::uint64_t, std::uint64_t at, Pack<n> (&own)[2]) const {
    const Pack<n> values = load<n>(x + at);
    for (unsigned i = 0; i < n; ++i) {
      const float away = values.x[i] - first.x[i];
      own[0].x[i] += away;
      own[1].x[i] += away * away;
    }
  }
};

template <class T>
struct SumsOfGroups {
  static constexpr unsigned sums = 2;
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, reciprocal;
  };
  const T *x, *d_output;
  const float2* statistics;  // mean and r
  Groups groups;

  template <unsigned n>
  __device__ OfColumn<n> of_column(unsigned sample, std::uint32_t channel) const {
    OfColumn<n> of;
    for (unsigned i = 0; i < n; ++i) {
      const float2 of_group = statistics[groups.set(sample, channel + i)];
      of.mean.x[i] = of_group.x;
      of.reciprocal.x[i] = of_group.y;
    }
    return of;
  }
  template <unsigned n>
  __device__ void operator()(const OfColumn<n>& of, std::uint64_t, std::uint64_t at,
                             Pack<n> (&own)[2]) const {
    const Pack<n> values = load<n>(x + at), g = load<n>(d_output + at);
    for (unsigned i = 0; i < n; ++i) {
      own[0].x[i] += g.x[i] * ((values.x[i] - of.mean.x[i]) * of.reciprocal.x[i]);
      own[1].x[i] += g.x[i];
    }
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

template <class T>
__global__ void finish_statistics(const T* x, Groups groups, unsigned pieces, float epsilon,
                                  const float* partials, float2* statistics) {
  const std::uint32_t group = blockIdx.x * warps + threadIdx.y, sample = blockIdx.y;
  if (group >= groups.number) return;
  const TwoSums sums = over_group(groups, sample, group, pieces, partials, nullptr);
  if (threadIdx.x != 0) return;
  const double moved = sums.first / groups.numbers();
  const auto variance = static_cast<float>(sums.second / groups.numbers() - moved * moved);
  statistics[std::uint64_t{sample} * groups.number + group] = {
      static_cast<float>(float{x[groups.first(sample, group)]} + moved),
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

template <class T>
struct Normalize {
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, scale, bias;
  };
  const T* x;
  T* output;
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

template <class T>
struct InputGradients {
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, reciprocal, weight, constant, by_y;
  };
  const T *x, *d_output;
  T* d_x;
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

template <class T>
class GroupNormOp final : public CudaOp {
 public:
  GroupNormOp(const GroupNorm& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        epsilon_(static_cast<float>(op.epsilon)),
        groups_{op.groups, place.output.channels / op.groups, place.output.channels, pixels_of(place.output)},
        workspace_(2 * sums_size(runs(place.micro_batch)) +
                   column_sums_workspace(pieces(runs(place.micro_batch)), groups_.channels)),
        statistics_(std::uint64_t{place.micro_batch} * op.groups),
        means_(statistics_.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const Runs samples = runs(pass.size());
    const T* const x = call.inputs[0];
    sum_packs(context_.stream, samples, Measure<T>{x, groups_}, call.workspace, x);
    launch(context_.stream, blocks(pass), {32, warps}, &finish_statistics<T>, x, groups_, pieces_of(samples),
           epsilon_, call.workspace, statistics_.data());
    const Normalize<T> f{x, call.output, statistics_.data(), call.parameters[0], call.parameters[1], groups_};
    sweep_columns(context_.stream, samples, f, f.x, f.output);
  }

  // Padded samples need no special case: a gradient of zeros gives zeros.
  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const Runs samples = runs(pass.size());
    const SumsOfGroups<T> sums{call.inputs[0], call.d_output, statistics_.data(), groups_};
    sum_packs(context_.stream, samples, sums, call.workspace, sums.x, sums.d_output);
    for (unsigned p = 0; p < 2; ++p) {
      column_sums(context_.stream, call.workspace + p * sums_size(samples), pieces(samples), groups_.channels,
                  call.add, call.d_parameters[p], call.workspace + 2 * sums_size(samples));
    }
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch(context_.stream, blocks(pass), {32, warps}, &finish_gradients, groups_, pieces_of(samples),
           call.workspace, call.parameters[0], means_.data());
    const InputGradients<T> f{call.inputs[0], call.d_output,      to,      statistics_.data(),
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
  [[nodiscard]] static std::uint64_t pieces(const Runs& samples) {
    return std::uint64_t{samples.count()} * pieces_of(samples);
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

STEELYARD_STORED_OP(GroupNorm, GroupNormOp)

}  // namespace steelyard::nn::cuda
