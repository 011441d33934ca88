#include <algorithm>
#include <vector>

#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

class EmbeddingOp final : public ReferenceOp {
 public:
  EmbeddingOp(const Embedding& op, const OpPlace& place)
      : tokens_(place.output.width), rows_(op.rows), features_(op.features) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t t = 0; t < pass.size() * tokens_; ++t) {
      for (std::uint64_t f = 0; f < features_; ++f) {
        call.output[t * features_ + f] = call.parameters[0][row(call.inputs[0][t]) * features_ + f];
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::vector<double> sums(rows_ * features_);
    if (call.add) std::copy_n(call.d_parameters[0], sums.size(), sums.begin());
    for (std::uint64_t t = 0; t < pass.size() * tokens_; ++t) {
      for (std::uint64_t f = 0; f < features_; ++f) {
        sums[row(call.inputs[0][t]) * features_ + f] += call.d_output[t * features_ + f];
      }
    }
    for (std::size_t i = 0; i < sums.size(); ++i) call.d_parameters[0][i] = static_cast<float>(sums[i]);
    if (call.d_inputs[0].to != nullptr) std::fill_n(call.d_inputs[0].to, pass.size() * tokens_, 0.0F);
  }

 private:
  [[nodiscard]] std::uint64_t row(float number) const {
    return number >= 0 && number < static_cast<float>(rows_) ? static_cast<std::uint64_t>(number) : 0;
  }

  std::uint64_t tokens_, rows_, features_;
};

class PositionEmbeddingOp final : public ReferenceOp {
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

 private:
  std::uint64_t size_;   // floats of a sample
  std::uint64_t used_;   // of the table: the rest is unused
  std::uint64_t table_;  // floats
};

class ClassTokenOp final : public ReferenceOp {
 public:
  ClassTokenOp(const ClassToken& /*op*/, const OpPlace& place) : in_(place.inputs[0]) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      float* to = call.output + s * (in_.size() + in_.channels);
      for (std::uint64_t f = 0; f < in_.channels; ++f) to[f] = call.parameters[0][f];
      for (std::uint64_t i = 0; i < in_.size(); ++i)
        to[in_.channels + i] = call.inputs[0][s * in_.size() + i];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t sample = in_.size() + in_.channels;
    for (std::uint64_t f = 0; f < in_.channels; ++f) {
      double sum = call.add ? call.d_parameters[0][f] : 0;
      for (std::uint64_t s = 0; s < pass.size(); ++s) sum += call.d_output[s * sample + f];
      call.d_parameters[0][f] = static_cast<float>(sum);
    }
    if (call.d_inputs[0].to == nullptr) return;
    for (std::uint64_t i = 0; i < pass.size() * in_.size(); ++i) {
      call.d_inputs[0].to[i] = call.d_output[i / in_.size() * sample + in_.channels + i % in_.size()];
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  Shape in_;
};

class SelectTokenOp final : public ReferenceOp {
 public:
  SelectTokenOp(const SelectToken& op, const OpPlace& place) : in_(place.inputs[0]), token_(op.token) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * in_.channels; ++i) {
      call.output[i] = call.inputs[0][place(i)];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    float* to = call.d_inputs[0].to;
    if (to == nullptr) return;
    std::fill_n(to, pass.size() * in_.size(), 0.0F);
    for (std::uint64_t i = 0; i < pass.size() * in_.channels; ++i) to[place(i)] = call.d_output[i];
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  [[nodiscard]] std::uint64_t place(std::uint64_t i) const {
    return i / in_.channels * in_.size() + token_ * in_.channels + i % in_.channels;
  }

  Shape in_;
  std::uint64_t token_;
};

class TokensOp final : public ReferenceOp {
 public:
  TokensOp(const Tokens& /*op*/, const OpPlace& place) : size_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    std::copy_n(call.inputs[0], pass.size() * size_, call.output);
  }
  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to != nullptr) std::copy_n(call.d_output, pass.size() * size_, call.d_inputs[0].to);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  std::uint64_t size_;
};

}  // namespace

STEELYARD_OP(Embedding, EmbeddingOp)
STEELYARD_OP(PositionEmbedding, PositionEmbeddingOp)
STEELYARD_OP(ClassToken, ClassTokenOp)
STEELYARD_OP(SelectToken, SelectTokenOp)
STEELYARD_OP(Tokens, TokensOp)

}  // namespace steelyard::nn::reference
