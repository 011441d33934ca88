// Attention without a matrix of tokens x tokens in memory: a block takes a tile of up to 64 queries of one
// head, visits the keys a tile at a time, and keeps a running maximum and sum of each query's softmax
// (Milakov and Gimelshein 2018; Dao et al. 2022). Bound by arithmetic: each thread has up to 4 x 4 scores and
// 4 rows of the result in registers and loads from shared memory by fours. Samples of few tokens have smaller
// tiles; of a last tile only 16 or 32 tokens are computed if it has no more.
//
// Backward recomputes the probabilities from the logarithm of each query's sum. It runs twice, by queries and
// by keys, so that each gradient is summed by one block, in one order; once if all tokens fit into one tile.
// With P the probabilities:
//   dV = P^T dO,  dP = dO V^T,  dS = P (dP - sum over f of dO O) / sqrt(d),  dQ = dS K,  dK = dS^T Q
#include <string>
#include <utility>

#include "core/error.h"
#include "nn/cuda/attention.h"
#include "nn/cuda/attention_tiles.h"
#include "nn/cuda/context.h"

namespace steelyard::nn::cuda {
namespace {

constexpr unsigned longest_head = 128;

// One block of a multiprocessor computes while another loads: with 256 threads, up to 128 registers each.
constexpr unsigned threads = side * side, blocks_at_once = 2;

template <unsigned each, unsigned n, unsigned strips, class T>
__global__ __launch_bounds__(threads, blocks_at_once) void attend(Sizes sizes, const T* x, T* output,
                                                                  float* logarithms) {
  STEELYARD_SHARED(Space<each>, space, [1]);
  STEELYARD_SHARED(Weights<each>, weights, [1]);
  constexpr unsigned tile = side * each;
  const Matrix<T> queries = sizes.rows(x, 0), keys = sizes.rows(x, 1), values = sizes.rows(x, 2);
  const std::uint32_t begin = blockIdx.x * tile, end = sizes.causal ? begin + 1 : sizes.tokens;
  const Part rows = part_of_tile<each>(sizes, begin);
  float top[each], sum[each] = {};
  for (float& row : top) row = -INFINITY;
  Result<each, n, strips> result;
  for (std::uint32_t key = 0; key < end; key += tile) {
    const Part columns = part_of_tile<each>(sizes, key);
    float scores[each][each];
    multiply(queries, rows, keys, columns, sizes, space[0], scores);
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
    result.add(weights[0], rows.groups, values, columns, sizes, space[0]);
  }
  for (unsigned i = 0; i < each; ++i) {
    const std::uint32_t query = begin + threadIdx.y + side * i;
    const float all = over_row(sum[i], Plus());
    result.scale(i, 1 / all);
    if (threadIdx.x == 0 && query < sizes.tokens) logarithms[sizes.queries() + query] = top[i] + logf(all);
  }
  result.store(begin, sizes, output + sizes.result(), sizes.features, false);
}

// ---- backward

template <class T>
struct Known {
  const T *x, *output, *d_output;
  const float* logarithms;
};

// A thread's queries: logarithms of the sums of exponentials, and sums over f of dO O.
template <unsigned each>
struct OfQueries {
  float logarithms[each], dots[each];

  template <class T>
  __device__ OfQueries(const Sizes& sizes, const Known<T>& known, std::uint32_t begin) {
    for (unsigned i = 0; i < each; ++i) {
      const std::uint32_t query = begin + threadIdx.y + side * i;
      const bool real = query < sizes.tokens;
      logarithms[i] = real ? known.logarithms[sizes.queries() + query] : 0;
      const std::uint64_t at = sizes.result() + std::uint64_t{query} * sizes.features;
      float sum = 0;
      for (std::uint32_t f = threadIdx.x; real && f < sizes.length; f += side)
        sum += known.d_output[at + f] * known.output[at + f];
      dots[i] = over_row(sum, Plus());
    }
  }
};

// Writes `dots` for key_gradients.
template <unsigned each, unsigned n, unsigned strips, class T>
__global__ __launch_bounds__(threads, blocks_at_once) void query_gradients(Sizes sizes, Known<T> known,
                                                                           float* dots, bool add, T* d_x) {
  STEELYARD_SHARED(Space<each>, space, [1]);
  STEELYARD_SHARED(Weights<each>, weights, [1]);
  constexpr unsigned tile = side * each;
  const Matrix<T> queries = sizes.rows(known.x, 0), keys = sizes.rows(known.x, 1);
  const Matrix<T> values = sizes.rows(known.x, 2), slopes{known.d_output + sizes.result(), sizes.features};
  const std::uint32_t begin = blockIdx.x * tile, end = sizes.causal ? begin + 1 : sizes.tokens;
  const Part rows = part_of_tile<each>(sizes, begin);
  const OfQueries<each> of(sizes, known, begin);
  for (unsigned i = 0; i < each; ++i) {
    const std::uint32_t query = begin + threadIdx.y + side * i;
    if (threadIdx.x == 0 && query < sizes.tokens) dots[sizes.queries() + query] = of.dots[i];
  }
  Result<each, n, strips> result;
  for (std::uint32_t key = 0; key < end; key += tile) {
    const Part columns = part_of_tile<each>(sizes, key);
    float scores[each][each], d_weights[each][each];
    multiply(queries, rows, keys, columns, sizes, space[0], scores);
    multiply(slopes, rows, values, columns, sizes, space[0], d_weights);
    for (unsigned i = 0; i < each; ++i) {
      const unsigned row = threadIdx.y + side * i;
      for (unsigned j = 0; j < each; ++j) {
        const unsigned column = threadIdx.x + side * j;
        const bool seen = sizes.sees(begin + row, key + column);
        const float weight = seen ? expf(scores[i][j] * sizes.scale - of.logarithms[i]) : 0;
        weights[0].x[row][column] = weight * (d_weights[i][j] - of.dots[i]) * sizes.scale;
      }
    }
    result.add(weights[0], rows.groups, keys, columns, sizes, space[0]);
  }
  result.store(begin, sizes, d_x + sizes.part(0), 3 * sizes.features, add);
}

// The same with rows and columns exchanged: rows are keys.
template <unsigned each, unsigned n, unsigned strips, class T>
__global__ __launch_bounds__(threads, blocks_at_once) void key_gradients(Sizes sizes, Known<T> known,
                                                                         const float* dots, bool add,
                                                                         T* d_x) {
  STEELYARD_SHARED(Space<each>, space, [1]);
  STEELYARD_SHARED(Weights<each>, weights, [1]);
  constexpr unsigned tile = side * each;
  const Matrix<T> queries = sizes.rows(known.x, 0), keys = sizes.rows(known.x, 1);
  const Matrix<T> values = sizes.rows(known.x, 2), slopes{known.d_output + sizes.result(), sizes.features};
  const std::uint32_t begin = blockIdx.x * tile;
  const Part rows = part_of_tile<each>(sizes, begin);
  Result<each, n, strips> d_keys, d_values;
  for (std::uint32_t query = sizes.causal ? begin : 0; query < sizes.tokens; query += tile) {
    const Part columns = part_of_tile<each>(sizes, query);
    float scores[each][each], d_weights[each][each];
    multiply(keys, rows, queries, columns, sizes, space[0], scores);
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
    d_values.add(weights[0], rows.groups, slopes, columns, sizes, space[0]);
    multiply(values, rows, slopes, columns, sizes, space[0], d_weights);
    for (unsigned j = 0; j < each; ++j) {
      const std::uint32_t column = query + threadIdx.x + side * j;
      const float dot = column < sizes.tokens ? dots[sizes.queries() + column] : 0;
      for (unsigned i = 0; i < each; ++i) {
        weights[0].x[threadIdx.y + side * i][threadIdx.x + side * j] =
            scores[i][j] * (d_weights[i][j] - dot) * sizes.scale;
      }
    }
    d_keys.add(weights[0], rows.groups, queries, columns, sizes, space[0]);
  }
  d_keys.store(begin, sizes, d_x + sizes.part(1), 3 * sizes.features, add);
  d_values.store(begin, sizes, d_x + sizes.part(2), 3 * sizes.features, add);
}

// All gradients, if all tokens fit into one tile: probabilities and dP are computed once.
template <unsigned each, unsigned n, unsigned strips, class T>
__global__ __launch_bounds__(threads, blocks_at_once) void gradients_of_tile(Sizes sizes, Known<T> known,
                                                                             bool add, T* d_x) {
  STEELYARD_SHARED(Space<each>, space, [1]);
  STEELYARD_SHARED(Weights<each>, weights, [1]);
  const Matrix<T> queries = sizes.rows(known.x, 0), keys = sizes.rows(known.x, 1);
  const Matrix<T> values = sizes.rows(known.x, 2), slopes{known.d_output + sizes.result(), sizes.features};
  const Part all = part_of_tile<each>(sizes, 0);
  const OfQueries<each> of(sizes, known, 0);
  // Puts weights[i][j] at [row][column], or at [column][row].
  const auto put = [&](const float(&from)[each][each], bool turned) {
    for (unsigned i = 0; i < each; ++i) {
      for (unsigned j = 0; j < each; ++j) {
        const unsigned row = threadIdx.y + side * i, column = threadIdx.x + side * j;
        weights[0].x[turned ? column : row][turned ? row : column] = from[i][j];
      }
    }
  };
  const auto give = [&](const Matrix<T>& b, unsigned part) {
    Result<each, n, strips> result;
    result.add(weights[0], all.groups, b, all, sizes, space[0]);
    result.store(0, sizes, d_x + sizes.part(part), 3 * sizes.features, add);
  };
  float scores[each][each], d_weights[each][each];
  multiply(queries, all, keys, all, sizes, space[0], scores);
  for (unsigned i = 0; i < each; ++i) {
    const std::uint32_t query = threadIdx.y + side * i;
    for (unsigned j = 0; j < each; ++j) {
      const bool seen = query < sizes.tokens && sizes.sees(query, threadIdx.x + side * j);
      scores[i][j] = seen ? expf(scores[i][j] * sizes.scale - of.logarithms[i]) : 0;
    }
  }
  put(scores, true);
  give(slopes, 2);
  multiply(slopes, all, values, all, sizes, space[0], d_weights);
  for (unsigned i = 0; i < each; ++i) {
    for (unsigned j = 0; j < each; ++j) scores[i][j] *= (d_weights[i][j] - of.dots[i]) * sizes.scale;
  }
  put(scores, true);
  give(queries, 1);
  put(scores, false);
  give(keys, 0);
}

// n and strips: for heads of up to 16 n strips features.
template <class T, unsigned each, unsigned n, unsigned strips>
class AttentionOp final : public CudaOp {
 public:
  AttentionOp(const Attention& op, const OpPlace& place, const Context& context, std::string refusal)
      : CudaOp(context),
        refusal_(std::move(refusal)),
        heads_(op.heads),
        sizes_{.tokens = place.output.width,
               .features = place.output.channels,
               .length = place.output.channels / op.heads,
               .causal = op.causal,
               .scale = 1 / sqrtf(static_cast<float>(place.output.channels / op.heads))},
        logarithms_(std::uint64_t{sizes_.tokens} * heads_ * place.micro_batch) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    launch(context_.stream, blocks(pass), {side, side}, &attend<each, n, strips, T>,
           sizes(call.inputs[0], call.output), call.inputs[0], call.output, logarithms_.data());
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const auto [to, add] = call.d_inputs[0];
    if (to == nullptr) return;
    const Known<T> known{call.inputs[0], call.output, call.d_output, logarithms_.data()};
    const Sizes sizes = this->sizes(known.x, known.d_output, to);
    if (one_tile()) {
      launch(context_.stream, blocks(pass), {side, side}, &gradients_of_tile<each, n, strips, T>, sizes,
             known, add, to);
      return;
    }
    launch(context_.stream, blocks(pass), {side, side}, &query_gradients<each, n, strips, T>, sizes, known,
           call.workspace, add, to);
    launch(context_.stream, blocks(pass), {side, side}, &key_gradients<each, n, strips, T>, sizes, known,
           call.workspace, add, to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.reads_output = true, .adds = true, .workspace = one_tile() ? 0 : logarithms_.size()};
  }
  [[nodiscard]] std::uint64_t bytes() const override { return logarithms_.size() * sizeof(float); }
  [[nodiscard]] std::string implementation() const override {
    return CudaOp::implementation() + (refusal_.empty() ? "" : " (" + refusal_ + ")");
  }

 private:
  [[nodiscard]] bool one_tile() const { return sizes_.tokens <= side * each; }
  [[nodiscard]] Extent blocks(const Pass& pass) const {
    return {groups_of(sizes_.tokens, side * each), heads_, pass.size()};
  }
  template <class... Arrays>
  [[nodiscard]] Sizes sizes(const Arrays*... arrays) const {
    Sizes sizes = sizes_;
    sizes.fours = are_packs_of<4>(sizes.length, arrays...);
    return sizes;
  }

  std::string refusal_;  // of a library
  std::uint32_t heads_;
  Sizes sizes_;
  DeviceArray<float> logarithms_;  // of the sum of exponentials of each query's scores
};

template <class T, unsigned each>
std::unique_ptr<Op> make_with_tiles(const Attention& op, const OpPlace& place, const Context& context,
                                    const std::string& refusal) {
  const std::uint32_t length = place.output.channels / op.heads;
  if (length > 64) return std::make_unique<AttentionOp<T, each, 4, 2>>(op, place, context, refusal);
  if (length > 32) return std::make_unique<AttentionOp<T, each, 4, 1>>(op, place, context, refusal);
  return std::make_unique<AttentionOp<T, each, 2, 1>>(op, place, context, refusal);
}

}  // namespace

std::unique_ptr<Op> make_own_attention(const Attention& op, const OpPlace& place, const Context& context,
                                       const std::string& refusal) {
  const std::uint32_t length = place.output.channels / op.heads, tokens = place.output.width;
  if (length > longest_head) {
    throw Failure(ExitCode::configuration, "attention: heads of " + std::to_string(length) +
                                               " features; on a CUDA device they have up to " +
                                               std::to_string(longest_head) + ": take more heads");
  }
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    using T = decltype(number);
    if (tokens <= side) return make_with_tiles<T, 1>(op, place, context, refusal);
    if (tokens <= 2 * side) return make_with_tiles<T, 2>(op, place, context, refusal);
    return make_with_tiles<T, 4>(op, place, context, refusal);
  });
}

std::unique_ptr<Op> make(const Attention& op, const OpPlace& place, const Context& context) {
  return choose_attention(op, place, context, make_library_attention);
}

}  // namespace steelyard::nn::cuda
