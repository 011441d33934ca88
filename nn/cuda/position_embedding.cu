// Position embedding: bound by memory. Samples are rows as long as the used part of the table (tokens, if
// all take the first row), so each thread fetches its numbers of the table once for several rows, and the
// gradient is a sum over rows.
#include "nn/cuda/by_columns.h"
#include "nn/cuda/column_sums.h"
#include "nn/cuda/elementwise.h"
#include "nn/cuda/ops.h"

namespace steelyard::nn::cuda {
namespace {

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

struct Sum {
  __device__ float operator()(std::uint64_t, float a, float b) const { return a + b; }
};

class PositionEmbeddingOp final : public Op {
 public:
  PositionEmbeddingOp(const PositionEmbedding& op, const OpPlace& place, const Context& context)
      : size_(place.output.size()),
        used_(static_cast<std::uint32_t>(op.first_only ? place.output.channels : size_)),
        table_(op.rows == 0 ? size_ : std::uint64_t{op.rows} * place.output.channels),
        workspace_(column_sums_workspace(size_ / used_ * place.micro_batch, used_)),
        context_(context) {}

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
    const std::uint64_t all = size_ * pass.size();
    if (to == nullptr) return;
    const float *const from = call.d_output, *const before = to;
    if (add) {
      elementwise(context_.stream, all, Sum(), to, before, from);
    } else if (to != from) {
      context_.stream.copy_array(to, from, all);
    }
  }

  [[nodiscard]] Traits traits() const override {
    return {
        .in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true, .workspace = workspace_};
  }
  [[nodiscard]] std::string implementation() const override { return "cuda"; }

 private:
  std::uint64_t size_;   // floats of a sample
  std::uint32_t used_;   // of the table: the rest is never added
  std::uint64_t table_;  // floats
  std::uint64_t workspace_;
  const Context& context_;
};

}  // namespace

std::unique_ptr<Op> make(const PositionEmbedding& op, const OpPlace& place, const Context& context) {
  return std::make_unique<PositionEmbeddingOp>(op, place, context);
}

}  // namespace steelyard::nn::cuda
