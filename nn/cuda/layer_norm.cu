// Layer norm: bound by memory. A warp takes a token, reads it twice (the second time from the cache) and
// writes it once; mean and reciprocal deviation are kept. If it first adds two terms, it reads these instead,
// and writes the sum, too. With g = d_output weight, y = (x - mean) r and n features:
//   d_x = r (g - sum g / n - y sum g y / n)
//
// Backward with up to 1024 features reads input and gradient once: a warp has both numbers of a token in
// registers, and there also sums the gradients of the parameters over its tokens. Otherwise there are two
// sweeps, one by columns for the parameters and one by tokens.
#include <algorithm>

#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned warps = 4;  // per block

// Terms to be added to `sum` first; null: none. The sum may take the place of a term.
template <class T>
struct Terms {
  const T *a = nullptr, *b = nullptr;
  T* sum = nullptr;

  template <unsigned n>
  __device__ Pack<n> at(std::uint64_t i) const {
    Pack<n> pack = load<n>(a + i);
    const Pack<n> other = load<n>(b + i);
    for (unsigned k = 0; k < n; ++k) pack.x[k] += other.x[k];
    return as_stored<T>(pack);
  }
};

// The first feature of a token. Of a sum only one lane reads it, which is the one that may overwrite it.
template <class T>
__device__ float first_of(const Terms<T>& terms, const T* row, std::uint64_t at) {
  if (terms.sum == nullptr) return row[0];
  return __shfl_sync(all_lanes, threadIdx.x == 0 ? terms.template at<1>(at).x[0] : 0, 0);
}

// Mean and reciprocal deviation of a token, in float2. The variance is computed after subtracting the first
// feature, so that a mean far from zero costs no precision.
template <unsigned n, class T>
__global__ void normalize(Terms<T> terms, const T* x, std::uint64_t tokens, std::uint32_t features,
                          float epsilon, const float* weight, const float* bias, T* out, float2* statistics) {
  const std::uint64_t token = std::uint64_t{blockIdx.x} * warps + threadIdx.y;
  if (token >= tokens) return;
  const std::uint64_t begin = token * features;
  const T* const row = x + begin;
  const float first = first_of(terms, row, begin), all = static_cast<float>(features);
  float sum = 0, squares = 0;
  for (std::uint32_t f = n * threadIdx.x; f < features; f += 32 * n) {
    const Pack<n> values = terms.sum != nullptr ? terms.template at<n>(begin + f) : load<n>(row + f);
    if (terms.sum != nullptr) store(terms.sum + begin + f, values);
    for (unsigned k = 0; k < n; ++k) {
      const float away = values.x[k] - first;
      sum += away;
      squares += away * away;
    }
  }
  const float moved = warp_sum(sum) / all;
  const float variance = fmaxf(warp_sum(squares) / all - moved * moved, 0);
  const float mean = first + moved, reciprocal = 1 / sqrtf(variance + epsilon);
  if (threadIdx.x == 0) statistics[token] = {mean, reciprocal};
  for (std::uint32_t f = n * threadIdx.x; f < features; f += 32 * n) {
    Pack<n> values = load<n>(row + f);
    const Pack<n> scale = load_anywhere<n>(weight + f), shift = load_anywhere<n>(bias + f);
    for (unsigned k = 0; k < n; ++k)
      values.x[k] = (values.x[k] - mean) * reciprocal * scale.x[k] + shift.x[k];
    store(out + begin + f, values);
  }
}

// Of backward.
template <class T>
struct Tokens {
  const T *x, *d_output;
  const float* weight;
  const float2* statistics;
  std::uint64_t count;
  std::uint32_t features;
};

// d_x of n features of a token. `sum` and `dot` are the means of g and of g y.
template <unsigned n>
__device__ Pack<n> slope(const Pack<n>& d_output, const Pack<n>& weight, const Pack<n>& y, float reciprocal,
                         float sum, float dot) {
  Pack<n> to;
  for (unsigned k = 0; k < n; ++k) to.x[k] = reciprocal * (d_output.x[k] * weight.x[k] - sum - y.x[k] * dot);
  return to;
}

// ---- everything in one sweep

constexpr std::uint32_t max_blocks = 512, tokens_of_warp = 4;  // at least
constexpr std::uint32_t most_packs = 8;                        // per lane

// Each warp takes every gridDim.x * warps-th token. `sums` gets [sum][block][feature].
template <unsigned packs, class T>
__global__ void gradients(Tokens<T> t, bool add, T* d_x, float* sums) {
  STEELYARD_SHARED(Pack<4>, partial, [warps][2 * packs][32]);
  const float all = static_cast<float>(t.features);
  const unsigned lane = threadIdx.x, warp = threadIdx.y;
  Pack<4> own[2 * packs] = {};  // of g y, and of g, without the weight
  for (std::uint64_t token = std::uint64_t{blockIdx.x} * warps + warp; token < t.count;
       token += std::uint64_t{gridDim.x} * warps) {
    const float mean = t.statistics[token].x, reciprocal = t.statistics[token].y;
    const std::uint64_t begin = token * t.features;
    Pack<4> y[packs] = {}, g[packs] = {};
    for (unsigned p = 0; p < packs; ++p) {
      const std::uint32_t f = 4 * (32 * p + lane);
      if (f >= t.features) continue;
      y[p] = load<4>(t.x + begin + f);
      g[p] = load<4>(t.d_output + begin + f);
    }
    float sum = 0, dot = 0;
    for (unsigned p = 0; p < packs; ++p) {
      const std::uint32_t f = 4 * (32 * p + lane);
      if (f >= t.features) continue;
      const Pack<4> weight = load_anywhere<4>(t.weight + f);
      for (unsigned k = 0; k < 4; ++k) {
        y[p].x[k] = (y[p].x[k] - mean) * reciprocal;
        own[p].x[k] += g[p].x[k] * y[p].x[k];
        own[packs + p].x[k] += g[p].x[k];
        sum += g[p].x[k] * weight.x[k];
        dot += g[p].x[k] * weight.x[k] * y[p].x[k];
      }
    }
    if (d_x == nullptr) continue;
    sum = warp_sum(sum) / all;
    dot = warp_sum(dot) / all;
    for (unsigned p = 0; p < packs; ++p) {
      const std::uint32_t f = 4 * (32 * p + lane);
      if (f >= t.features) continue;
      store(d_x + begin + f, slope(g[p], load_anywhere<4>(t.weight + f), y[p], reciprocal, sum, dot), add);
    }
  }
  for (unsigned i = 0; i < 2 * packs; ++i) partial[warp][i][lane] = own[i];
  __syncthreads();
  for (unsigned i = warp; i < 2 * packs; i += warps) {
    const std::uint32_t f = 4 * (32 * (i % packs) + lane);
    if (f >= t.features) continue;
    Pack<4> sum{};
    for (unsigned w = 0; w < warps; ++w) {
      for (unsigned k = 0; k < 4; ++k) sum.x[k] += partial[w][i][lane].x[k];
    }
    store(sums + (std::uint64_t{i / packs} * gridDim.x + blockIdx.x) * t.features + f, sum);
  }
}

// ---- two sweeps

template <class T>
struct SumsOfTokens : PlainColumns {
  static constexpr unsigned sums = 2;
  Tokens<T> t;
  template <unsigned n>
  __device__ void operator()(const Column<n>&, std::uint64_t row, std::uint64_t at, Pack<n> (&own)[2]) const {
    const float2 of_token = t.statistics[row];
    const Pack<n> values = load<n>(t.x + at), g = load<n>(t.d_output + at);
    for (unsigned k = 0; k < n; ++k) {
      own[0].x[k] += g.x[k] * ((values.x[k] - of_token.x) * of_token.y);
      own[1].x[k] += g.x[k];
    }
  }
};

template <unsigned n, class T>
__global__ void by_tokens(Tokens<T> t, bool add, T* d_x) {
  const std::uint64_t token = std::uint64_t{blockIdx.x} * warps + threadIdx.y, begin = token * t.features;
  if (token >= t.count) return;
  const float mean = t.statistics[token].x, reciprocal = t.statistics[token].y;
  const float all = static_cast<float>(t.features);
  const auto y_at = [&](std::uint32_t f) {
    Pack<n> y = load<n>(t.x + begin + f);
    for (unsigned k = 0; k < n; ++k) y.x[k] = (y.x[k] - mean) * reciprocal;
    return y;
  };
  float sum = 0, dot = 0;
  for (std::uint32_t f = n * threadIdx.x; f < t.features; f += 32 * n) {
    const Pack<n> y = y_at(f), d = load<n>(t.d_output + begin + f), weight = load_anywhere<n>(t.weight + f);
    for (unsigned k = 0; k < n; ++k) {
      const float g = d.x[k] * weight.x[k];
      sum += g;
      dot += g * y.x[k];
    }
  }
  sum = warp_sum(sum) / all;
  dot = warp_sum(dot) / all;
  for (std::uint32_t f = n * threadIdx.x; f < t.features; f += 32 * n) {
    const Pack<n> d = load<n>(t.d_output + begin + f), weight = load_anywhere<n>(t.weight + f);
    store(d_x + begin + f, slope(d, weight, y_at(f), reciprocal, sum, dot), add);
  }
}

template <class T>
class LayerNormOp final : public CudaOp {
 public:
  LayerNormOp(const LayerNorm& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        epsilon_(static_cast<float>(op.epsilon)),
        tokens_(pixels_of(place.output)),
        features_(place.output.channels),
        workspace_(2 * std::max(sums_size(runs(place.micro_batch)),
                                std::uint64_t{blocks(place.micro_batch)} * features_)),
        statistics_(tokens_ * place.micro_batch) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const std::uint64_t tokens = pass.size() * tokens_;
    const float *const weight = call.parameters[0], *const bias = call.parameters[1];
    const bool adds = call.sum != nullptr;
    const Terms<T> terms = adds ? Terms<T>{call.inputs[0], call.inputs[1], call.sum} : Terms<T>{};
    const T* const x = adds ? call.sum : call.inputs[0];
    with_packs(can_pack(features_, x, terms.a, terms.b, call.output), [&](auto n) {
      launch(context_.stream, groups_of(tokens, warps), {32, warps}, &normalize<n, T>, terms, x, tokens,
             features_, epsilon_, weight, bias, call.output, statistics_.data());
    });
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const Tokens<T> tokens{call.inputs[0],     call.d_output,         call.parameters[0],
                           statistics_.data(), pass.size() * tokens_, features_};
    const auto [to, add] = call.d_inputs[0];
    const bool packed = are_packs_of<4>(features_, tokens.x, tokens.d_output, to, call.workspace);
    if (packed && features_ <= 4 * 32 * most_packs) {
      one_sweep(pass, call, tokens);
    } else {
      two_sweeps(pass, call, tokens, packed);
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.d_in_place = true, .adds = true, .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return statistics_.size() * sizeof(float2); }

 private:
  [[nodiscard]] Runs runs(std::uint32_t samples) const {
    return {samples * tokens_, samples * tokens_, features_};
  }
  [[nodiscard]] unsigned blocks(std::uint32_t samples) const {
    return std::min(groups_of(samples * tokens_, warps * tokens_of_warp), max_blocks);
  }

  void one_sweep(const Pass& pass, const BackwardOf<T>& call, const Tokens<T>& tokens) const {
    const unsigned packs = groups_of(features_, 4 * 32), count = blocks(pass.size());
    const auto [to, add] = call.d_inputs[0];
    launch(context_.stream, count, {32, warps},
           packs <= 1   ? &gradients<1, T>
           : packs <= 2 ? &gradients<2, T>
           : packs <= 4 ? &gradients<4, T>
                        : &gradients<most_packs, T>,
           tokens, add, to, call.workspace);
    sum_parameters(call, count, std::uint64_t{count} * features_);
  }

  void two_sweeps(const Pass& pass, const BackwardOf<T>& call, const Tokens<T>& tokens, bool packed) const {
    const Runs all = runs(pass.size());
    sum_packs(context_.stream, all, SumsOfTokens<T>{{}, tokens}, call.workspace, tokens.x, tokens.d_output);
    sum_parameters(call, pieces_of(all), sums_size(all));
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch(context_.stream, groups_of(all.rows, warps), {32, warps},
           packed ? &by_tokens<4, T> : &by_tokens<1, T>, tokens, add, to);
  }

  // From `pieces` rows of the workspace, for both sums, which are `size` floats apart.
  void sum_parameters(const BackwardOf<T>& call, unsigned pieces, std::uint64_t size) const {
    for (unsigned p = 0; p < 2; ++p) {
      column_sums(context_.stream, call.workspace + p * size, pieces, features_, call.add,
                  call.d_parameters[p]);
    }
  }

  float epsilon_;
  std::uint64_t tokens_;
  std::uint32_t features_;
  std::uint64_t workspace_;
  DeviceArray<float2> statistics_;
};

}  // namespace

STEELYARD_STORED_OP(LayerNorm, LayerNormOp)

}  // namespace steelyard::nn::cuda
