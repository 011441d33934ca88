#include <algorithm>

#include "nn/cpu/ops.h"
#include "nn/cpu/row_sums.h"

namespace steelyard::nn::cpu {
namespace {

// What the table is added to in one go is a row: a sample, or a token if all take the same.
class PositionEmbeddingOp final : public Op {
 public:
  PositionEmbeddingOp(const PositionEmbedding& op, const OpPlace& place)
      : size_(place.output.size()),
        used_(op.first_only ? place.output.channels : size_),
        table_(op.rows == 0 ? size_ : std::uint64_t{op.rows} * place.output.channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    add_row({pass.size() * size_ / used_, used_, used_}, call.inputs[0], call.parameters[0], call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    sum_rows({pass.batch.count * size_ / used_, used_, used_}, call.d_output, call.add, call.d_parameters[0]);
    if (!call.add) std::fill(call.d_parameters[0] + used_, call.d_parameters[0] + table_, 0.0F);
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr || d_input.to == call.d_output) return;
    const std::uint64_t all = pass.size() * size_;
    if (d_input.add) return add_row({1, all, all}, d_input.to, call.d_output, d_input.to);
    std::copy_n(call.d_output, all, d_input.to);
  }

  [[nodiscard]] Traits traits() const override {
    return {.in_place = true, .d_in_place = true, .reads_inputs = false, .adds = true};
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  std::uint64_t size_;   // floats of a sample
  std::uint64_t used_;   // of the table: the rest is never added
  std::uint64_t table_;  // floats
};

}  // namespace

std::unique_ptr<Op> make(const PositionEmbedding& op, const OpPlace& place) {
  return std::make_unique<PositionEmbeddingOp>(op, place);
}

}  // namespace steelyard::nn::cpu
