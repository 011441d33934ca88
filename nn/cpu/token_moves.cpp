#include <algorithm>

#include "nn/cpu/kernel_calls.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {
namespace {

class EmbeddingOp final : public DirectOp {
 public:
  EmbeddingOp(const Embedding& op, const OpPlace& place)
      : tokens_(place.output.width), rows_(op.rows), features_(op.features) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t t = 0; t < pass.size() * tokens_; ++t) {
      std::copy_n(call.parameters[0] + row(call.inputs[0][t]), features_, call.output + t * features_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    float* d_weight = call.d_parameters[0];
    if (!call.add) std::fill_n(d_weight, rows_ * features_, 0.0F);
    for (std::uint64_t t = 0; t < pass.batch.count * tokens_; ++t) {
      float* to = d_weight + row(call.inputs[0][t]);
      add_row({1, features_, features_}, to, call.d_output + t * features_, to);
    }
    // Row numbers have no gradient.
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to != nullptr && !d_input.add) std::fill_n(d_input.to, pass.size() * tokens_, 0.0F);
  }

  [[nodiscard]] Traits traits() const override { return {.adds = true}; }

 private:
  // Begin of the row with this number.
  [[nodiscard]] std::uint64_t row(float number) const {
    const bool is_row = number >= 0 && number < static_cast<float>(rows_);
    return (is_row ? static_cast<std::uint64_t>(number) : 0) * features_;
  }

  std::uint64_t tokens_, rows_, features_;
};

// The table is added to rows: samples, or tokens if all use the same row of the table.
class PositionEmbeddingOp final : public DirectOp {
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

  [[nodiscard]] Traits traits() const override { return in_place_traits; }

 private:
  std::uint64_t size_;   // floats of a sample
  std::uint64_t used_;   // of the table: the rest is unused
  std::uint64_t table_;  // floats
};

class ClassTokenOp final : public DirectOp {
 public:
  ClassTokenOp(const ClassToken& /*op*/, const OpPlace& place)
      : features_(place.output.channels), in_(place.inputs[0].size()), out_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      float* rest = std::copy_n(call.parameters[0], features_, call.output + s * out_);
      std::copy_n(call.inputs[0] + s * in_, in_, rest);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    sum_rows({pass.batch.count, features_, out_}, call.d_output, call.add, call.d_parameters[0]);
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      const float* from = call.d_output + s * out_ + features_;
      float* to = d_input.to + s * in_;
      if (d_input.add) {
        add_row({1, in_, in_}, to, from, to);
      } else {
        std::copy_n(from, in_, to);
      }
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint64_t features_, in_, out_;  // of one token, and of a sample
};

class SelectTokenOp final : public DirectOp {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place)
      : features_(place.output.channels), in_(place.inputs[0].size()), begin_(op.token * features_) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      std::copy_n(call.inputs[0] + s * in_ + begin_, features_, call.output + s * features_);
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    if (!d_input.add) std::fill_n(d_input.to, pass.size() * in_, 0.0F);
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      float* to = d_input.to + s * in_ + begin_;
      add_row({1, features_, features_}, to, call.d_output + s * features_, to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false, .adds = true}; }

 private:
  std::uint64_t features_, in_, begin_;
};

// The places of a picture already lie in the order of its tokens, in both orders of buffers: in place, there
// is nothing to do.
class TokensOp final : public Op {
 public:
  TokensOp(const Tokens& /*op*/, const OpPlace& place) : size_(place.output.size()), order_(place.order) {}

  void forward(const Pass& pass, const Forward& call) override {
    if (call.output == call.inputs[0]) return;
    std::copy_n(call.inputs[0], pass.places(order_) * size_, call.output);
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr || d_input.to == call.d_output) return;
    const std::uint64_t all = pass.places(order_) * size_;
    if (d_input.add) return add_row({1, all, all}, d_input.to, call.d_output, d_input.to);
    std::copy_n(call.d_output, all, d_input.to);
  }

  [[nodiscard]] Traits traits() const override { return in_place_traits; }
  [[nodiscard]] std::string implementation() const override { return "none"; }

 private:
  std::uint64_t size_;
  Order order_;
};

}  // namespace

STEELYARD_OP(Embedding, EmbeddingOp)
STEELYARD_OP(PositionEmbedding, PositionEmbeddingOp)
STEELYARD_OP(ClassToken, ClassTokenOp)
STEELYARD_OP(SelectToken, SelectTokenOp)
STEELYARD_OP(Tokens, TokensOp)

}  // namespace steelyard::nn::cpu
