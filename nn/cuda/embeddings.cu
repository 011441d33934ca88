// Tables of vectors: bound by memory.
#include "nn/cuda/array_kernels.h"
#include "nn/cuda/context.h"
#include "nn/cuda/sweeps.h"

namespace steelyard::nn::cuda {

// Embedding: forward copies rows of the table. Backward sorts the tokens by their rows (sort_tokens); then a
// block sums the gradients of all tokens of a row, in the order of the tokens' places, and writes each row
// once.
namespace {

struct Lookup : PlainColumns {
  const float *numbers, *table;
  float* output;
  std::uint32_t rows, features;

  template <unsigned n>
  __device__ void operator()(const Column<n>& column, std::uint64_t token, std::uint64_t at) const {
    const std::uint64_t row = row_of(numbers[token], rows);
    store(output + at, load<n>(table + row * features + column.number));
  }
};

constexpr unsigned warps = 8;

// A block for each sorted token and 32 features; only the block of a row's first token does work.
__global__ void sum_rows(Sorted sorted, std::uint32_t tokens, std::uint32_t features, const float* d_output,
                         bool add, float* d_table) {
  STEELYARD_SHARED(float, partial, [warps][32]);
  const std::uint32_t first = blockIdx.x, row = sorted.rows[first];
  if (first > 0 && sorted.rows[first - 1] == row) return;
  const std::uint32_t feature = blockIdx.y * 32 + threadIdx.x;
  float own = 0;
  for (std::uint32_t i = first + threadIdx.y; i < tokens && sorted.rows[i] == row; i += warps) {
    if (feature < features) own += d_output[std::uint64_t{sorted.tokens[i]} * features + feature];
  }
  partial[threadIdx.y][threadIdx.x] = own;
  __syncthreads();
  if (threadIdx.y != 0 || feature >= features) return;
  float& to = d_table[std::uint64_t{row} * features + feature];
  float all = add ? to : 0;
  for (unsigned w = 0; w < warps; ++w) all += partial[w][threadIdx.x];
  to = all;
}

class EmbeddingOp final : public CudaOp {
 public:
  EmbeddingOp(const Embedding& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        tokens_(place.output.width),
        rows_(op.rows),
        features_(op.features),
        sorted_rows_(std::uint64_t{tokens_} * place.micro_batch),
        sorted_tokens_(sorted_rows_.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t tokens = std::uint64_t{tokens_} * pass.size();
    const Lookup lookup{{}, call.inputs[0], call.parameters[0], call.output, rows_, features_};
    sweep_columns(context_.stream, {tokens, tokens, features_}, lookup, call.parameters[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint32_t tokens = tokens_ * pass.size();
    const Sorted sorted{sorted_rows_.data(), sorted_tokens_.data()};
    float* const d_table = call.d_parameters[0];
    if (!call.add) context_.stream.fill_zero(d_table, std::uint64_t{rows_} * features_ * sizeof(float));
    sort_tokens(context_.stream, call.inputs[0], tokens, rows_, sorted);
    launch(context_.stream, {tokens, groups_of(features_, 32)}, {32, warps}, &sum_rows, sorted, tokens,
           features_, call.d_output, call.add, d_table);
    const auto [to, add] = call.d_inputs[0];  // row numbers have no gradient
    if (to != nullptr && !add) context_.stream.fill_zero(to, tokens * sizeof(float));
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return (sorted_rows_.size() + sorted_tokens_.size()) * sizeof(std::uint32_t);
  }

 private:
  std::uint32_t tokens_, rows_, features_;
  DeviceArray<std::uint32_t> sorted_rows_, sorted_tokens_;
};

// Position embedding: samples are rows of the length of the used part of the table (tokens, if all use the
// first row), so each thread loads its numbers of the table once for several rows, and the gradient is a sum
// over rows.

struct AddTable {
  const float *x, *table;
  float* output;

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

class PositionEmbeddingOp final : public CudaOp {
 public:
  PositionEmbeddingOp(const PositionEmbedding& op, const OpPlace& place, const Context& context)
      : CudaOp(context),
        size_(place.output.size()),
        used_(static_cast<std::uint32_t>(op.first_only ? place.output.channels : size_)),
        table_(op.rows == 0 ? size_ : std::uint64_t{op.rows} * place.output.channels),
        workspace_(column_sums_workspace(size_ / used_ * place.micro_batch, used_)) {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::uint64_t rows = size_ / used_ * pass.size();
    const AddTable f{call.inputs[0], call.parameters[0], call.output};
    sweep_columns(context_.stream, {rows, rows, used_}, f, f.x, f.table, f.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
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
  std::uint64_t size_;   // floats of a sample
  std::uint32_t used_;   // of the table: the rest is unused
  std::uint64_t table_;  // floats
  std::uint64_t workspace_;
};

}  // namespace

STEELYARD_OP_HERE(Embedding, EmbeddingOp)
STEELYARD_OP_HERE(PositionEmbedding, PositionEmbeddingOp)

}  // namespace steelyard::nn::cuda
