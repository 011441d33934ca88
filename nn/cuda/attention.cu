// Attention without a matrix of tokens x tokens in memory: a block takes 64 queries of one head, visits the
// keys 64 at a time, and keeps a running maximum and sum of each query's softmax (Milakov and Gimelshein
// 2018; Dao et al. 2022). Bound by arithmetic: each thread has 4 x 4 scores and 4 rows of the result in
// registers and loads from shared memory by fours.
//
// Backward recomputes the probabilities from the logarithm of each query's sum. It runs twice, by queries and
// by keys, so that each gradient is summed by one block, in one order. With P the probabilities:
//   dV = P^T dO,  dP = dO V^T,  dS = P (dP - sum over f of dO O) / sqrt(d),  dQ = dS K,  dK = dS^T Q
#include "core/error.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned tile = 64, side = 16, each = tile / side;  // tokens per block, threads in x and y, rows
constexpr unsigned strip = 32, pitch = strip + 4;             // features at once; avoids bank conflicts of
                                                              // rows
constexpr unsigned longest_head = 128;

// A row per token.
struct Matrix {
  const float* first;
  std::uint64_t row;  // floats from one to the next
};

struct Sizes {
  std::uint32_t tokens, features, length;  // features of all heads, and of one
  bool causal;
  float scale;

  // Begins of the block's sample and head: in queries, keys or values (0, 1, 2), in the result, and in arrays
  // with one number per query.
  __device__ std::uint64_t part(unsigned part) const {
    return (std::uint64_t{blockIdx.z} * tokens * 3 + part) * features + std::uint64_t{blockIdx.y} * length;
  }
  __device__ std::uint64_t result() const {
    return std::uint64_t{blockIdx.z} * tokens * features + std::uint64_t{blockIdx.y} * length;
  }
  __device__ std::uint64_t queries() const {
    return (std::uint64_t{blockIdx.z} * gridDim.y + blockIdx.y) * tokens;
  }
  __device__ Matrix rows(const float* x, unsigned of) const { return {x + part(of), 3 * features}; }
  __device__ bool sees(std::uint32_t query, std::uint32_t key) const {
    return key < tokens && (!causal || key <= query);
  }
};

// The shared memory of a block.
struct alignas(16) Space {
  float x[2 * tile * pitch];
};
struct alignas(16) Weights {
  float x[tile][tile + 4];
};

// Loads `columns` columns of rows from `begin` on; zero outside the tokens or features.
__device__ void fetch(const Matrix& from, const Sizes& sizes, std::uint32_t begin, std::uint32_t feature,
                      unsigned columns, unsigned to_row, float* to) {
  for (unsigned i = threadIdx.y * side + threadIdx.x; i < tile * columns; i += side * side) {
    const std::uint32_t token = begin + i / columns, f = feature + i % columns;
    const bool inside = token < sizes.tokens && f < sizes.length;
    to[i / columns * to_row + i % columns] = inside ? from.first[token * from.row + f] : 0;
  }
}

// sums[i][j] = sum over f of a[row i][f] b[row j][f], for rows y + 16 i of a's tile and x + 16 j of b's.
__device__ void multiply(const Matrix& a, std::uint32_t a_begin, const Matrix& b, std::uint32_t b_begin,
                         const Sizes& sizes, Space& space, float (&sums)[each][each]) {
  float *const of_a = space.x, *const of_b = space.x + tile * pitch;
  for (unsigned i = 0; i < each; ++i)
    for (unsigned j = 0; j < each; ++j) sums[i][j] = 0;
  for (std::uint32_t feature = 0; feature < sizes.length; feature += strip) {
    fetch(a, sizes, a_begin, feature, strip, pitch, of_a);
    fetch(b, sizes, b_begin, feature, strip, pitch, of_b);
    __syncthreads();
    for (unsigned f = 0; f < strip; f += 4) {
      Pack<4> rows[each], columns[each];
      for (unsigned i = 0; i < each; ++i) {
        rows[i] = load<4>(of_a + (threadIdx.y + side * i) * pitch + f);
        columns[i] = load<4>(of_b + (threadIdx.x + side * i) * pitch + f);
      }
      for (unsigned i = 0; i < each; ++i)
        for (unsigned j = 0; j < each; ++j)
          for (unsigned k = 0; k < 4; ++k) sums[i][j] += rows[i].x[k] * columns[j].x[k];
    }
    __syncthreads();
  }
}

// A row of features for each of a thread's tokens y + 16 i: from each strip of 16 n features, n from n x on.
template <unsigned n, unsigned strips>
struct Result {
  float x[each][strips][n] = {};

  __device__ void scale(unsigned i, float by) {
    for (unsigned s = 0; s < strips; ++s)
      for (unsigned c = 0; c < n; ++c) x[i][s][c] *= by;
  }

  // Adds the sum over j of weights[row][j] b[j]. One instantiation per strip: with a loop index the result
  // would not stay in registers.
  template <unsigned s = 0>
  __device__ void add(const Weights& weights, const Matrix& b, std::uint32_t b_begin, const Sizes& sizes,
                      Space& space) {
    constexpr unsigned width = side * n;
    fetch(b, sizes, b_begin, s * width, width, width, space.x);
    __syncthreads();
    for (unsigned j = 0; j < tile; j += 4) {
      Pack<n> columns[4];
      for (unsigned k = 0; k < 4; ++k) columns[k] = load<n>(space.x + (j + k) * width + n * threadIdx.x);
      for (unsigned i = 0; i < each; ++i) {
        const Pack<4> row = load<4>(&weights.x[threadIdx.y + side * i][j]);
        for (unsigned k = 0; k < 4; ++k)
          for (unsigned c = 0; c < n; ++c) x[i][s][c] += row.x[k] * columns[k].x[c];
      }
    }
    __syncthreads();
    if constexpr (s + 1 < strips) add<s + 1>(weights, b, b_begin, sizes, space);
  }

  __device__ void store(std::uint32_t begin, const Sizes& sizes, float* to, std::uint64_t row,
                        bool add_to) const {
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t token = begin + threadIdx.y + side * i;
      for (unsigned s = 0; s < strips && token < sizes.tokens; ++s) {
        for (unsigned c = 0; c < n; ++c) {
          const std::uint32_t f = (s * side + threadIdx.x) * n + c;
          if (f >= sizes.length) break;
          float& at = to[token * row + f];
          at = add_to ? at + x[i][s][c] : x[i][s][c];
        }
      }
    }
  }
};

// Combines over the 16 threads that share rows.
template <class Combine>
__device__ float over_row(float value, Combine combine) {
  for (unsigned mask = side / 2; mask > 0; mask /= 2)
    value = combine(value, __shfl_xor_sync(all_lanes, value, mask));
  return value;
}

template <unsigned n, unsigned strips>
__global__ void attend(Sizes sizes, const float* x, float* output, float* logarithms) {
  STEELYARD_SHARED(Space, space, [1]);
  STEELYARD_SHARED(Weights, weights, [1]);
  const Matrix queries = sizes.rows(x, 0), keys = sizes.rows(x, 1), values = sizes.rows(x, 2);
  const std::uint32_t begin = blockIdx.x * tile, end = sizes.causal ? begin + 1 : sizes.tokens;
  float top[each], sum[each] = {};
  for (float& row : top) row = -INFINITY;
  Result<n, strips> result;
  for (std::uint32_t key = 0; key < end; key += tile) {
    float scores[each][each];
    multiply(queries, begin, keys, key, sizes, space[0], scores);
    for (unsigned i = 0; i < each; ++i) {
      const unsigned row = threadIdx.y + side * i;
      float best = top[i];
      for (unsigned j = 0; j < each; ++j) {
        const std::uint32_t column = key + threadIdx.x + side * j;
        scores[i][j] = sizes.sees(begin + row, column) ? scores[i][j] * sizes.scale : -INFINITY;
        best = fmaxf(best, scores[i][j]);
      }
      best = over_row(best, Greater());
      const float shrink = expf(top[i] - best);
      top[i] = best;
      sum[i] *= shrink;
      result.scale(i, shrink);
      for (unsigned j = 0; j < each; ++j) {
        const float weight = expf(scores[i][j] - best);
        sum[i] += weight;
        weights[0].x[row][threadIdx.x + side * j] = weight;
      }
    }
    result.add(weights[0], values, key, sizes, space[0]);
  }
  for (unsigned i = 0; i < each; ++i) {
    const std::uint32_t query = begin + threadIdx.y + side * i;
    const float all = over_row(sum[i], Plus());
    result.scale(i, 1 / all);
    if (threadIdx.x == 0 && query < sizes.tokens) logarithms[sizes.queries() + query] = top[i] + logf(all);
  }
  result.store(begin, sizes, output + sizes.result(), sizes.features, false);
}

// The sum over f of dO O, for each query of each head, by one warp each.
constexpr unsigned warps = 4;
__global__ void dots(Sizes sizes, const float* output, const float* d_output, float* to) {
  const std::uint32_t query = blockIdx.x * warps + threadIdx.y;
  if (query >= sizes.tokens) return;
  const std::uint64_t row = sizes.result() + std::uint64_t{query} * sizes.features;
  float sum = 0;
  for (std::uint32_t f = threadIdx.x; f < sizes.length; f += 32) sum += d_output[row + f] * output[row + f];
  sum = warp_sum(sum);
  if (threadIdx.x == 0) to[sizes.queries() + query] = sum;
}

// Data of the queries for backward.
struct OfQueries {
  const float *logarithms, *dots;
};

template <unsigned n, unsigned strips>
__global__ void query_gradients(Sizes sizes, const float* x, const float* d_output, OfQueries known, bool add,
                                float* d_x) {
  STEELYARD_SHARED(Space, space, [1]);
  STEELYARD_SHARED(Weights, weights, [1]);
  const Matrix queries = sizes.rows(x, 0), keys = sizes.rows(x, 1), values = sizes.rows(x, 2);
  const Matrix slopes{d_output + sizes.result(), sizes.features};
  const std::uint32_t begin = blockIdx.x * tile, end = sizes.causal ? begin + 1 : sizes.tokens;
  float logarithms[each], dots[each];
  for (unsigned i = 0; i < each; ++i) {
    const std::uint32_t query = begin + threadIdx.y + side * i;
    const std::uint64_t at = sizes.queries() + (query < sizes.tokens ? query : 0);
    logarithms[i] = known.logarithms[at];
    dots[i] = known.dots[at];
  }
  Result<n, strips> result;
  for (std::uint32_t key = 0; key < end; key += tile) {
    float scores[each][each], d_weights[each][each];
    multiply(queries, begin, keys, key, sizes, space[0], scores);
    multiply(slopes, begin, values, key, sizes, space[0], d_weights);
    for (unsigned i = 0; i < each; ++i) {
      const unsigned row = threadIdx.y + side * i;
      for (unsigned j = 0; j < each; ++j) {
        const unsigned column = threadIdx.x + side * j;
        const bool seen = sizes.sees(begin + row, key + column);
        const float weight = seen ? expf(scores[i][j] * sizes.scale - logarithms[i]) : 0;
        weights[0].x[row][column] = weight * (d_weights[i][j] - dots[i]) * sizes.scale;
      }
    }
    result.add(weights[0], keys, key, sizes, space[0]);
  }
  result.store(begin, sizes, d_x + sizes.part(0), 3 * sizes.features, add);
}

// The same with rows and columns exchanged: rows are keys.
template <unsigned n, unsigned strips>
__global__ void key_gradients(Sizes sizes, const float* x, const float* d_output, OfQueries known, bool add,
                              float* d_x) {
  STEELYARD_SHARED(Space, space, [1]);
  STEELYARD_SHARED(Weights, weights, [1]);
  const Matrix queries = sizes.rows(x, 0), keys = sizes.rows(x, 1), values = sizes.rows(x, 2);
  const Matrix slopes{d_output + sizes.result(), sizes.features};
  const std::uint32_t begin = blockIdx.x * tile;
  Result<n, strips> d_keys, d_values;
  for (std::uint32_t query = sizes.causal ? begin : 0; query < sizes.tokens; query += tile) {
    float scores[each][each], d_weights[each][each];
    multiply(keys, begin, queries, query, sizes, space[0], scores);
    for (unsigned j = 0; j < each; ++j) {
      const std::uint32_t column = query + threadIdx.x + side * j;
      const bool real = column < sizes.tokens;
      const float logarithm = real ? known.logarithms[sizes.queries() + column] : 0;
      for (unsigned i = 0; i < each; ++i) {
        const unsigned row = threadIdx.y + side * i;
        const bool seen = real && sizes.sees(column, begin + row);
        scores[i][j] = seen ? expf(scores[i][j] * sizes.scale - logarithm) : 0;
        weights[0].x[row][threadIdx.x + side * j] = scores[i][j];
      }
    }
    d_values.add(weights[0], slopes, query, sizes, space[0]);
    multiply(values, begin, slopes, query, sizes, space[0], d_weights);
    for (unsigned j = 0; j < each; ++j) {
      const std::uint32_t column = query + threadIdx.x + side * j;
      const float dot = column < sizes.tokens ? known.dots[sizes.queries() + column] : 0;
      for (unsigned i = 0; i < each; ++i) {
        weights[0].x[threadIdx.y + side * i][threadIdx.x + side * j] =
            scores[i][j] * (d_weights[i][j] - dot) * sizes.scale;
      }
    }
    d_keys.add(weights[0], queries, query, sizes, space[0]);
  }
  d_keys.store(begin, sizes, d_x + sizes.part(1), 3 * sizes.features, add);
  d_values.store(begin, sizes, d_x + sizes.part(2), 3 * sizes.features, add);
}

// n and strips: for heads of up to 16 n strips features.
template <unsigned n, unsigned strips>
class AttentionOp final : public CudaOp {
 public:
  AttentionOp(const Attention& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        heads_(op.heads),
        sizes_{.tokens = place.output.width,
               .features = place.output.channels,
               .length = place.output.channels / op.heads,
               .causal = op.causal,
               .scale = 1 / sqrtf(static_cast<float>(place.output.channels / op.heads))},
        workspace_(std::uint64_t{sizes_.tokens} * heads_ * place.micro_batch),
        logarithms_(workspace_) {}

  void forward(const Pass& pass, const Forward& call) override {
    launch(context_.stream, blocks(pass, tile), {side, side}, &attend<n, strips>, sizes_, call.inputs[0],
           call.output, logarithms_.data());
  }

  void backward(const Pass& pass, const Backward& call) override {
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    launch(context_.stream, blocks(pass, warps), {32, warps}, &dots, sizes_, call.output, call.d_output,
           call.workspace);
    for (const auto kernel : {&query_gradients<n, strips>, &key_gradients<n, strips>}) {
      launch(context_.stream, blocks(pass, tile), {side, side}, kernel, sizes_, call.inputs[0], call.d_output,
             OfQueries{logarithms_.data(), call.workspace}, add, to);
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {.reads_output = true, .adds = true, .workspace = workspace_};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return logarithms_.size() * sizeof(float); }

 private:
  [[nodiscard]] Extent blocks(const Pass& pass, unsigned tokens) const {
    return {groups_of(sizes_.tokens, tokens), heads_, pass.size()};
  }

  std::uint32_t heads_;
  Sizes sizes_;
  std::uint64_t workspace_;
  DeviceArray<float> logarithms_;  // of the sum of exponentials of each query's scores
};

}  // namespace

std::unique_ptr<Op> make(const Attention& op, const OpPlace& place, const Context& context) {
  const std::uint32_t length = place.output.channels / op.heads;
  if (length > longest_head) {
    throw Failure(ExitCode::configuration, "attention: heads of " + std::to_string(length) +
                                               " features; on a CUDA device they have up to " +
                                               std::to_string(longest_head) + ": take more heads");
  }
  if (length > 64) return std::make_unique<AttentionOp<4, 2>>(op, place, context);
  if (length > 32) return std::make_unique<AttentionOp<4, 1>>(op, place, context);
  return std::make_unique<AttentionOp<2, 1>>(op, place, context);
}

}  // namespace steelyard::nn::cuda
