// Batch norm with its tail: bound by memory. Forward reads the input twice (statistics, and the output with
// residual and ReLU) and backward reads input and gradient twice (the gradient behind the tail with its sums,
// and the gradient of the input); values per channel are in registers.
//
// Samples form groups of the context's grain. Only real samples enter the sums of a group; their number is in
// device memory. With g the gradient behind the tail, n places, r = 1 / sqrt(variance + epsilon) and y = (x -
// mean) r, in each group:
//   d_bias = sum g,  d_weight = sum g y,  d_x = weight r (g - d_bias / n - y d_weight / n)
// Gradients of parameters are sums over the groups.
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

enum : unsigned { weight, bias, running_mean, running_var, parameters };

constexpr unsigned warps = 8;  // in blocks of 32 columns that finish sums

// The statistics of each group's channels, as [group][channel].
struct Statistics {
  float *mean, *reciprocal, *variance;
  float *d_bias, *d_weight;  // per group
};

// The division of samples into groups.
struct Groups {
  const BatchNumbers* numbers;
  std::uint64_t pixels;
  std::uint32_t samples;  // per group

  __device__ std::uint64_t real_rows() const { return numbers->count * pixels; }
  __device__ std::uint32_t real_samples(unsigned group) const {
    const std::uint64_t first = std::uint64_t{group} * samples;
    const std::uint64_t rest = numbers->count > first ? numbers->count - first : 0;
    return static_cast<std::uint32_t>(rest < samples ? rest : samples);
  }
};

// Sums after subtracting the first value of the group's channel, so that a mean far from zero costs no
// precision of the variance.
template <class T>
struct Measure {
  static constexpr unsigned sums = 2;
  const T* x;
  Groups groups;
  std::uint32_t channels;

  template <unsigned n>
  __device__ Pack<n> of_column(unsigned group, std::uint32_t channel) const {
    return load<n>(x + group * groups.samples * groups.pixels * channels + channel);
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& first, std::uint64_t row, std::uint64_t at,
                             Pack<n> (&own)[2]) const {
    if (row >= groups.real_rows()) return;
    const Pack<n> values = load<n>(x + at);
    for (unsigned i = 0; i < n; ++i) {
      const float away = values.x[i] - first.x[i];
      own[0].x[i] += away;
      own[1].x[i] += away * away;
    }
  }
};

// The gradient behind the tail, and its sums. Padded samples have none and need no special case.
template <class T>
struct TailGradient {
  static constexpr unsigned sums = 2;
  const T *x, *output, *d_output;
  T* gradient;    // null if it equals d_output
  T* d_residual;  // null if not needed
  const float *mean, *reciprocal;
  std::uint32_t channels;
  bool relu;

  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, reciprocal;
  };
  template <unsigned n>
  __device__ OfColumn<n> of_column(unsigned group, std::uint32_t channel) const {
    const std::uint64_t set = std::uint64_t{group} * channels + channel;
    OfColumn<n> of;
    for (unsigned i = 0; i < n; ++i) {
      of.mean.x[i] = mean[set + i];
      of.reciprocal.x[i] = reciprocal[set + i];
    }
    return of;
  }
  template <unsigned n>
  __device__ void operator()(const OfColumn<n>& of, std::uint64_t, std::uint64_t at,
                             Pack<n> (&own)[2]) const {
    Pack<n> g = load<n>(d_output + at);
    const Pack<n> values = load<n>(x + at);
    if (relu) {
      const Pack<n> shown = load<n>(output + at);
      for (unsigned i = 0; i < n; ++i) g.x[i] = shown.x[i] <= 0 ? 0 : g.x[i];
    }
    if (gradient != nullptr) store(gradient + at, g);
    if (d_residual != nullptr) store(d_residual + at, g, true);
    for (unsigned i = 0; i < n; ++i) {
      own[0].x[i] += g.x[i];
      own[1].x[i] += g.x[i] * ((values.x[i] - of.mean.x[i]) * of.reciprocal.x[i]);
    }
  }
};

// Both sums of a group's channel over its pieces, by a block of 32 channels x `warps`. Returns true for the
// threads that hold them.
__device__ bool whole_sums(const float* partials, unsigned groups, unsigned pieces, std::uint32_t channels,
                           double& first, double& second) {
  STEELYARD_SHARED(double, partial, [2][warps][33]);
  const std::uint32_t channel = blockIdx.x * 32 + threadIdx.x;
  const std::uint64_t size = std::uint64_t{groups} * pieces * channels;
  double own[2] = {};
  for (unsigned p = threadIdx.y; p < pieces && channel < channels; p += warps) {
    const std::uint64_t at = (std::uint64_t{blockIdx.y} * pieces + p) * channels + channel;
    own[0] += partials[at];
    own[1] += partials[size + at];
  }
  for (unsigned s = 0; s < 2; ++s) partial[s][threadIdx.y][threadIdx.x] = own[s];
  __syncthreads();
  if (threadIdx.y != 0 || channel >= channels) return false;
  first = second = 0;
  for (unsigned w = 0; w < warps; ++w) {
    first += partial[0][w][threadIdx.x];
    second += partial[1][w][threadIdx.x];
  }
  return true;
}

template <class T>
__global__ void finish_statistics(const T* x, Groups groups, std::uint32_t channels, unsigned pieces,
                                  float epsilon, const float* partials, Statistics to) {
  double sum = 0, squares = 0;
  if (!whole_sums(partials, gridDim.y, pieces, channels, sum, squares)) return;
  const std::uint32_t channel = blockIdx.x * 32 + threadIdx.x;
  const std::uint64_t set = std::uint64_t{blockIdx.y} * channels + channel;
  const std::uint64_t rows = groups.real_samples(blockIdx.y) * groups.pixels;
  const double n = rows > 0 ? static_cast<double>(rows) : 1, moved = sum / n;
  const auto variance = static_cast<float>(squares / n - moved * moved);
  const float first = x[blockIdx.y * groups.samples * groups.pixels * channels + channel];
  to.mean[set] = static_cast<float>(first + moved);
  to.variance[set] = variance < 0 ? 0 : variance;
  to.reciprocal[set] = 1 / sqrtf(to.variance[set] + epsilon);
}

__global__ void known_statistics(const float* mean, const float* variance, std::uint32_t channels,
                                 float epsilon, Statistics to) {
  const std::uint64_t channel = thread_number();
  if (channel >= channels) return;
  to.mean[channel] = mean[channel];
  to.reciprocal[channel] = 1 / sqrtf(variance[channel] + epsilon);
}

template <class T>
struct Normalize {
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, scale, bias;
  };
  const T *x, *residual;
  T* output;
  const float *mean, *reciprocal, *weight, *bias;
  std::uint32_t channels;
  bool relu;

  template <unsigned n>
  __device__ OfColumn<n> of_column(unsigned group, std::uint32_t channel) const {
    const std::uint64_t set = std::uint64_t{group} * channels + channel;
    OfColumn<n> of;
    for (unsigned i = 0; i < n; ++i) {
      of.mean.x[i] = mean[set + i];
      of.scale.x[i] = reciprocal[set + i] * weight[channel + i];
      of.bias.x[i] = bias[channel + i];
    }
    return of;
  }
  template <unsigned n>
  __device__ void operator()(const OfColumn<n>& of, std::uint64_t, std::uint64_t at) const {
    Pack<n> values = load<n>(x + at);
    for (unsigned i = 0; i < n; ++i)
      values.x[i] = (values.x[i] - of.mean.x[i]) * of.scale.x[i] + of.bias.x[i];
    if (residual != nullptr) {
      const Pack<n> more = load<n>(residual + at);
      for (unsigned i = 0; i < n; ++i) values.x[i] += more.x[i];
    }
    for (unsigned i = 0; relu && i < n; ++i) values.x[i] = values.x[i] < 0 ? 0 : values.x[i];
    store(output + at, values);
  }
};

__global__ void finish_gradients(const float* partials, unsigned pieces, std::uint32_t channels,
                                 Statistics to) {
  double sum = 0, dot = 0;
  if (!whole_sums(partials, gridDim.y, pieces, channels, sum, dot)) return;
  const std::uint64_t set = std::uint64_t{blockIdx.y} * channels + blockIdx.x * 32 + threadIdx.x;
  to.d_bias[set] = static_cast<float>(sum);
  to.d_weight[set] = static_cast<float>(dot);
}

struct ParameterGradients {
  float* of[parameters];
};

// A block sums 32 channels of one parameter over the groups.
__global__ void put_gradients(Groups groups, unsigned number, std::uint32_t channels, Statistics from,
                              bool add, ParameterGradients gradients) {
  STEELYARD_SHARED(double, partial, [warps][33]);
  const std::uint32_t channel = blockIdx.x * 32 + threadIdx.x;
  const unsigned parameter = blockIdx.y;
  double own = 0;
  for (unsigned group = threadIdx.y; group < number && channel < channels; group += warps) {
    const std::uint64_t set = std::uint64_t{group} * channels + channel;
    const std::uint32_t count = groups.real_samples(group);
    const auto n = static_cast<double>(count * groups.pixels);
    if (count == 0) continue;
    if (parameter == weight) own += from.d_weight[set];
    if (parameter == bias) own += from.d_bias[set];
    if (parameter == running_mean) own += double{from.mean[set]} * count;
    if (parameter == running_var) own += from.variance[set] * (n > 1 ? n / (n - 1) : 1) * count;
  }
  partial[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0 || channel >= channels) return;
  double all = 0;
  for (unsigned w = 0; w < warps; ++w) all += partial[w][threadIdx.x];
  float& to = gradients.of[parameter][channel];
  to = static_cast<float>(add ? to + all : all);
}

template <class T>
struct InputGradients {
  template <unsigned n>
  struct OfColumn {
    Pack<n> mean, reciprocal, scale, constant, by_y;
    std::uint64_t real_rows;
  };
  const T *x, *gradient;
  T* d_x;
  Statistics from;
  const float* weight;
  Groups groups;
  std::uint32_t channels;
  bool add;

  template <unsigned n>
  __device__ OfColumn<n> of_column(unsigned group, std::uint32_t channel) const {
    const std::uint64_t set = std::uint64_t{group} * channels + channel;
    const std::uint64_t rows = groups.real_samples(group) * groups.pixels;
    const float part = rows > 0 ? 1 / static_cast<float>(rows) : 0;
    OfColumn<n> of;
    of.real_rows = groups.real_rows();
    for (unsigned i = 0; i < n; ++i) {
      of.mean.x[i] = from.mean[set + i];
      of.reciprocal.x[i] = from.reciprocal[set + i];
      of.scale.x[i] = from.reciprocal[set + i] * weight[channel + i];
      of.constant.x[i] = from.d_bias[set + i] * part;
      of.by_y.x[i] = from.d_weight[set + i] * part;
    }
    return of;
  }
  template <unsigned n>
  __device__ void operator()(const OfColumn<n>& of, std::uint64_t row, std::uint64_t at) const {
    const bool real = row < of.real_rows;
    if (!real && add) return;
    const Pack<n> g = load<n>(gradient + at), values = load<n>(x + at);
    Pack<n> to;
    for (unsigned i = 0; i < n; ++i) {
      const float y = (values.x[i] - of.mean.x[i]) * of.reciprocal.x[i];
      to.x[i] = real ? of.scale.x[i] * (g.x[i] - of.constant.x[i] - y * of.by_y.x[i]) : 0;
    }
    store(d_x + at, to, add);
  }
};

template <class T>
class BatchNormOp final : public CudaOp {
 public:
  BatchNormOp(const BatchNorm& op, const OpPlace& place, FusedTail tail, const Context& context)
      : CudaOp(context),
        epsilon_(static_cast<float>(op.epsilon)),
        tail_(tail),
        pixels_(pixels_of(place.output)),
        channels_(place.output.channels),
        grain_(context.grain),
        workspace_(2 * sums_size(runs(place.micro_batch))),
        sets_(std::uint64_t{runs(place.micro_batch).count()} * channels_),
        kept_(5 * sets_) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const Runs grouped = runs(pass.size());
    const T* const x = call.inputs[0];
    if (pass.training) {
      sum_packs(context_.stream, grouped, Measure<T>{x, groups(pass), channels_}, call.workspace, x);
      launch(context_.stream, {groups_of(channels_, 32), grouped.count()}, {32, warps}, &finish_statistics<T>,
             x, groups(pass), channels_, pieces_of(grouped), epsilon_, call.workspace, statistics());
    } else {
      launch(context_.stream, groups_of(channels_, 256), 256, &known_statistics,
             call.parameters[running_mean], call.parameters[running_var], channels_, epsilon_, statistics());
    }
    const T* const residual = tail_.add ? call.inputs[1] : nullptr;
    const Normalize<T> f{x,
                         residual,
                         call.output,
                         statistics().mean,
                         statistics().reciprocal,
                         call.parameters[weight],
                         call.parameters[bias],
                         channels_,
                         tail_.relu};
    const Runs one{grouped.rows, grouped.rows, channels_};
    sweep_columns(context_.stream, pass.training ? grouped : one, f, x, residual, call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const Runs grouped = runs(pass.size());
    const GradientOf<T> d_x = call.d_inputs[0];
    const GradientOf<T> d_residual = tail_.add ? call.d_inputs[1] : GradientOf<T>{};
    // The buffer for the gradient behind the tail: the residual's, if needed, else d_output.
    T* const gradient = d_residual.to != nullptr && !d_residual.add ? d_residual.to : call.d_output;
    const bool writes = tail_.relu || gradient != call.d_output;
    const TailGradient<T> sums{call.inputs[0],
                               call.output,
                               call.d_output,
                               writes ? gradient : nullptr,
                               d_residual.add ? d_residual.to : nullptr,
                               statistics().mean,
                               statistics().reciprocal,
                               channels_,
                               tail_.relu};
    sum_packs(context_.stream, grouped, sums, call.workspace, sums.x, sums.output, sums.d_output,
              sums.gradient, sums.d_residual);
    launch(context_.stream, {groups_of(channels_, 32), grouped.count()}, {32, warps}, &finish_gradients,
           call.workspace, pieces_of(grouped), channels_, statistics());
    ParameterGradients gradients{};
    for (unsigned p = 0; p < parameters; ++p) gradients.of[p] = call.d_parameters[p];
    launch(context_.stream, {groups_of(channels_, 32), parameters}, {32, warps}, &put_gradients, groups(pass),
           grouped.count(), channels_, statistics(), call.add, gradients);
    if (d_x.to == nullptr) return;
    const InputGradients<T> f{call.inputs[0],          gradient,     d_x.to,    statistics(),
                              call.parameters[weight], groups(pass), channels_, d_x.add};
    sweep_columns(context_.stream, grouped, f, call.inputs[0], gradient, d_x.to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.d_in_place = true,
            .reads_inputs = true,
            .reads_output = tail_.relu,
            .adds = true,
            .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return kept_.size() * sizeof(float); }

 private:
  [[nodiscard]] std::uint32_t samples_of_group(std::uint32_t samples) const {
    return grain_ == 0 || grain_ > samples ? samples : grain_;
  }
  [[nodiscard]] Runs runs(std::uint32_t samples) const {
    return {samples * pixels_, samples_of_group(samples) * pixels_, channels_};
  }
  [[nodiscard]] Groups groups(const Pass& pass) const {
    return {context_.numbers, pixels_, samples_of_group(pass.size())};
  }
  [[nodiscard]] Statistics statistics() const {
    float* const at = kept_.data();
    return {at, at + sets_, at + 2 * sets_, at + 3 * sets_, at + 4 * sets_};
  }

  float epsilon_;
  FusedTail tail_;
  std::uint64_t pixels_;
  std::uint32_t channels_, grain_;
  std::uint64_t workspace_, sets_;
  DeviceArray<float> kept_;  // Statistics
};

}  // namespace

std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail,
                                    const Context& context) {
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<BatchNormOp<decltype(number)>>(op, place, tail, context);
  });
}

std::unique_ptr<Op> make(const BatchNorm& op, const OpPlace& place, const Context& context) {
  return make_batch_norm(op, place, {}, context);
}

}  // namespace steelyard::nn::cuda
