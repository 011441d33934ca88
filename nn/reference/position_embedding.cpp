#include <algorithm>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class PositionEmbeddingOp final : public Op {
 public:
  PositionEmbeddingOp(const PositionEmbedding& op, const OpPlace& place)
      : size_(place.output.size()),
        used_(op.first_only ? place.output.channels : size_),
        table_(op.rows == 0 ? size_ : std::uint64_t{op.rows} * place.output.channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i) {
      call.output[i] = call.inputs[0][i] + call.parameters[0][i % used_];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (std::uint64_t i = 0; i < table_; ++i) {
      double sum = call.add ? call.d_parameters[0][i] : 0;
      for (std::uint64_t at = i; i < used_ && at < pass.size() * size_; at += used_) sum += call.d_output[at];
      call.d_parameters[0][i] = static_cast<float>(sum);
    }
    if (call.d_inputs[0].to != nullptr) std::copy_n(call.d_output, pass.size() * size_, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

 private:
  std::uint64_t size_;   // floats of a sample
  std::uint64_t used_;   // of the table: the rest is never added
  std::uint64_t table_;  // floats
};

}  // namespace

std::unique_ptr<Op> make(const PositionEmbedding& op, const OpPlace& place) {
  return std::make_unique<PositionEmbeddingOp>(op, place);
}

}  // namespace steelyard::nn::reference
