// Tables of vectors: bound by memory.
#include <algorithm>

#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

// Embedding: forward copies rows of the table. Backward sorts the tokens by their rows (sort_tokens) and cuts
// the sorted tokens into pieces, so that a frequent token is summed by many warps. A warp sums what its piece
// has of each row. Rows within one piece are then complete; of the others a block adds up the parts. The
// order of additions depends only on the tokens.
namespace {

// Row numbers are float32 in either storage.
template <class T>
struct Lookup : PlainColumns {
  const float *numbers, *table;
  T* output;
  std::uint32_t rows, features;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t token, std::uint64_t at) const {
    const std::uint64_t row = row_of(numbers[token], rows);
    store(output + at, load<n>(table + row * features + column.number));
  }
};

constexpr unsigned warps = 8;
constexpr std::uint32_t max_pieces = 1024, min_length = 32;

struct Pieces {
  const std::uint64_t* keys;  // of sort_tokens
  std::uint32_t tokens, length, features;

  [[nodiscard]] __host__ __device__ std::uint32_t count() const { return groups_of(tokens, length); }
  [[nodiscard]] __device__ std::uint32_t row(std::uint64_t i) const {
    return static_cast<std::uint32_t>(keys[i] >> 32);
  }
  [[nodiscard]] __device__ std::uint64_t token(std::uint64_t i) const { return keys[i] & 0xFFFFFFFF; }
  // Where a piece keeps its part of the row that an earlier piece began (0), and of the row that it begins
  // and a later one ends (1).
  [[nodiscard]] __device__ std::uint64_t part(std::uint64_t piece, unsigned which) const {
    return (2 * piece + which) * features;
  }
};

// A warp takes a piece, a lane n features.
template <unsigned n, class T>
__global__ void sum_piece(Pieces p, const T* d_output, bool add, float* d_table, float* parts) {
  constexpr unsigned at_once = 4;  // loads
  const std::uint64_t piece = std::uint64_t{blockIdx.x} * warps + threadIdx.y, begin = piece * p.length;
  const std::uint64_t end = begin + p.length < p.tokens ? begin + p.length : p.tokens;
  const std::uint32_t feature = n * (blockIdx.y * 32 + threadIdx.x);
  if (begin >= p.tokens || feature >= p.features) return;
  Pack<n> sum{};
  for (std::uint64_t first = begin; first < end; first += at_once) {
    Pack<n> next[at_once];
    for (unsigned k = 0; k < at_once; ++k)
      if (first + k < end) next[k] = load<n>(d_output + p.token(first + k) * p.features + feature);
    for (unsigned k = 0; k < at_once; ++k) {
      const std::uint64_t i = first + k;
      if (i >= end) break;
      for (unsigned c = 0; c < n; ++c) sum.x[c] += next[k].x[c];
      const std::uint32_t row = p.row(i);
      const bool goes_on = i + 1 < p.tokens && p.row(i + 1) == row;
      if (goes_on && i + 1 < end) continue;
      if (begin > 0 && p.row(begin - 1) == row) {
        store(parts + p.part(piece, 0) + feature, sum);
      } else if (goes_on) {
        store(parts + p.part(piece, 1) + feature, sum);
      } else {
        store(d_table + std::uint64_t{row} * p.features + feature, sum, add);
      }
      sum = {};
    }
  }
}

// A block for each piece but the last; only those of pieces that begin a row of several pieces do work.
template <unsigned n>
__global__ void add_parts(Pieces p, const float* parts, bool add, float* d_table) {
  STEELYARD_SHARED(Pack<n>, partial, [warps][32]);
  const std::uint64_t piece = blockIdx.x, begin = piece * p.length, end = begin + p.length;
  const std::uint32_t row = p.row(end);
  if (p.row(end - 1) != row || (begin > 0 && p.row(begin - 1) == row)) return;
  const std::uint32_t feature = n * (blockIdx.y * 32 + threadIdx.x);
  Pack<n> own{};
  for (std::uint64_t q = piece + 1 + threadIdx.y; feature < p.features; q += warps) {
    if (q * p.length >= p.tokens || p.row(q * p.length) != row) break;
    const Pack<n> part = load<n>(parts + p.part(q, 0) + feature);
    for (unsigned c = 0; c < n; ++c) own.x[c] += part.x[c];
  }
  partial[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0 || feature >= p.features) return;
  Pack<n> sum = load<n>(parts + p.part(piece, 1) + feature);
  for (unsigned w = 0; w < warps; ++w) {
    for (unsigned c = 0; c < n; ++c) sum.x[c] += partial[w][threadIdx.x].x[c];
  }
  store(d_table + std::uint64_t{row} * p.features + feature, sum, add);
}

template <class T>
class EmbeddingOp final : public CudaOp {
 public:
  EmbeddingOp(const Embedding& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        tokens_(place.output.width),
        rows_(op.rows),
        features_(op.features),
        keys_(std::uint64_t{tokens_} * place.micro_batch),
        other_keys_(keys_.size()) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const std::uint64_t tokens = std::uint64_t{tokens_} * pass.size();
    const Lookup<T> lookup{{}, untyped.inputs[0], call.parameters[0], call.output, rows_, features_};
    sweep_columns(context_.stream, {tokens, tokens, features_}, lookup, call.parameters[0], call.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    const std::uint32_t tokens = tokens_ * pass.size();
    const std::uint32_t length = std::max(min_length, groups_of(tokens, max_pieces));
    const Pieces pieces{keys_.data(), tokens, length, features_};
    float* const d_table = call.d_parameters[0];
    if (!call.add) context_.stream.fill_zero(d_table, std::uint64_t{rows_} * features_ * sizeof(float));
    sort_tokens(context_.stream, untyped.inputs[0], tokens, rows_, keys_.data(), other_keys_.data());
    with_packs(can_pack(features_, call.d_output, d_table, call.workspace), [&](auto n) {
      const unsigned parts = groups_of(features_, 32 * n);
      launch(context_.stream, {groups_of(pieces.count(), warps), parts}, {32, warps}, &sum_piece<n, T>,
             pieces, call.d_output, call.add, d_table, call.workspace);
      if (pieces.count() > 1) {
        launch(context_.stream, {pieces.count() - 1, parts}, {32, warps}, &add_parts<n>, pieces,
               call.workspace, call.add, d_table);
      }
    });
    const auto [to, add] = untyped.d_inputs[0];  // row numbers have no gradient
    if (to != nullptr && !add) context_.stream.fill_zero(to, tokens * sizeof(float));
  }

  [[nodiscard]] Traits traits() const override {
    const std::uint64_t pieces = std::min<std::uint64_t>(groups_of(keys_.size(), min_length), max_pieces);
    return {.adds = true, .workspace = 2 * pieces * features_};
  }
  [[nodiscard]] std::uint64_t bytes() const override {
    return (keys_.size() + other_keys_.size()) * sizeof(std::uint64_t);
  }

 private:
  std::uint32_t tokens_, rows_, features_;
  DeviceArray<std::uint64_t> keys_, other_keys_;
};

// Position embedding: samples are rows of the length of the used part of the table (tokens, if all use the
// first row), so each thread loads its numbers of the table once for several rows, and the gradient is a sum
// over rows.

template <class T>
struct AddTable {
  const T* x;
  const float* table;
  T* output;

  template <unsigned n>
  __device__ Pack<n> of_column(unsigned, std::uint32_t column) const {
    return load<n>(table + column);
  }
  template <unsigned n>
  __device__ void operator()(const Pack<n>& of_table, std::uint64_t, std::uint64_t at) const {
    Pack<n> values = load<n>(x + at);
    for (unsigned i = 0; i < n; ++i) values.x[i] += of_table.x[i];
    store(output + at, values);
  }
};

template <class T>
class PositionEmbeddingOp final : public CudaOp {
 public:
  PositionEmbeddingOp(const PositionEmbedding& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        size_(place.output.size()),
        used_(static_cast<std::uint32_t>(op.first_only ? place.output.channels : size_)),
        table_(op.rows == 0 ? size_ : std::uint64_t{op.rows} * place.output.channels),
        workspace_(column_sums_workspace(size_ / used_ * place.micro_batch, used_)) {}

  void forward(const Pass& pass, const Forward& untyped) override {
    const ForwardOf<T> call(untyped);
    const std::uint64_t rows = size_ / used_ * pass.size();
    const AddTable<T> f{call.inputs[0], call.parameters[0], call.output};
    sweep_columns(context_.stream, {rows, rows, used_}, f, f.x, f.table, f.output);
  }

  void backward(const Pass& pass, const Backward& untyped) override {
    const BackwardOf<T> call(untyped);
    float* const d_table = call.d_parameters[0];
    column_sums(context_.stream, call.d_output, size_ / used_ * pass.size(), used_, call.add, d_table,
                call.workspace);
    if (!call.add && table_ > used_)
      context_.stream.fill_zero(d_table + used_, (table_ - used_) * sizeof(float));
    const auto [to, add] = call.d_inputs[0];
    if (to != nullptr) give(context_.stream, size_ * pass.size(), call.d_output, add, to);
  }

  [[nodiscard]] Traits traits() const override {
    return {
        .in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true, .workspace = workspace_};
  }

 private:
  std::uint64_t size_;   // numbers of a sample
  std::uint32_t used_;   // of the table: the rest is unused
  std::uint64_t table_;  // floats
  std::uint64_t workspace_;
};

}  // namespace

STEELYARD_STORED_OP(Embedding, EmbeddingOp)
STEELYARD_STORED_OP(PositionEmbedding, PositionEmbeddingOp)

}  // namespace steelyard::nn::cuda
