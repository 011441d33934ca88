#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/random.h"
#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

using Kind = Activation::Kind;

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double phi(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// x (1 + tanh u) / 2 is x sigmoid(2u)
double gelu_argument(double x) { return 2 * std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x); }
double gelu_argument_slope(double x) {
  return 2 * std::sqrt(2 / std::numbers::pi) * (1 + 3 * 0.044715 * x * x);
}

double value(Kind kind, double x) {
  switch (kind) {
    case Kind::relu:
      return x < 0 ? 0 : x;
    case Kind::relu6:
      return std::clamp(x, 0.0, 6.0);
    case Kind::gelu:
      return x * phi(x);
    case Kind::gelu_tanh:
      return x * sigmoid(gelu_argument(x));
    case Kind::silu:
      return x * sigmoid(x);
    case Kind::hard_swish:
      return x * std::clamp(x + 3, 0.0, 6.0) / 6;
    case Kind::hard_sigmoid:
      return std::clamp(x + 3, 0.0, 6.0) / 6;
    case Kind::sigmoid:
      return sigmoid(x);
    case Kind::tanh:
      return std::tanh(x);
  }
  return x;
}

// At a kink, the slope of the flat side, except for hard_swish: its right end has the steep one.
double derivative(Kind kind, double x) {
  switch (kind) {
    case Kind::relu:
      return x > 0 ? 1 : 0;
    case Kind::relu6:
      return x > 0 && x < 6 ? 1 : 0;
    case Kind::gelu:
      return phi(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    case Kind::gelu_tanh:
      return sigmoid(gelu_argument(x)) * (1 + x * sigmoid(-gelu_argument(x)) * gelu_argument_slope(x));
    case Kind::silu:
      return sigmoid(x) * (1 + x * sigmoid(-x));
    case Kind::hard_swish:
      return x <= -3 ? 0 : x >= 3 ? 1 : x / 3 + 0.5;
    case Kind::hard_sigmoid:
      return x > -3 && x < 3 ? 1 / 6.0 : 0;
    case Kind::sigmoid:
      return sigmoid(x) * sigmoid(-x);
    case Kind::tanh:
      return 1 / (std::cosh(x) * std::cosh(x));
  }
  return 1;
}

class ActivationOp final : public ReferenceOp {
 public:
  ActivationOp(const Activation& op, const OpPlace& place) : kind_(op.kind), features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < features_ * pass.size(); ++i) {
      call.output[i] = static_cast<float>(value(kind_, call.inputs[0][i]));
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_input = call.d_inputs[0];
    if (d_input.to == nullptr) return;
    for (std::uint64_t i = 0; i < features_ * pass.size(); ++i) {
      d_input.to[i] = static_cast<float>(derivative(kind_, call.inputs[0][i]) * call.d_output[i]);
    }
  }

 private:
  Kind kind_;
  std::uint64_t features_;
};

class AddOp final : public ReferenceOp {
 public:
  AddOp(const Add& /*op*/, const OpPlace& place) : features_(place.output.size()) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < features_ * pass.size(); ++i) {
      call.output[i] = call.inputs[0][i] + call.inputs[1][i];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    for (const InputGradient& d_input : call.d_inputs) {
      if (d_input.to != nullptr) std::copy_n(call.d_output, features_ * pass.size(), d_input.to);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  std::uint64_t features_;
};

class ScaleOp final : public ReferenceOp {
 public:
  ScaleOp(const Scale& /*op*/, const OpPlace& place)
      : pixels_(pixels_of(place.output)), channels_(place.output.channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * pixels_ * channels_; ++i) {
      call.output[i] = call.inputs[0][i] * call.inputs[1][factor_of(i)];
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    float *const d_a = call.d_inputs[0].to, *const d_factors = call.d_inputs[1].to;
    for (std::uint64_t i = 0; i < pass.size() * pixels_ * channels_ && d_a != nullptr; ++i) {
      d_a[i] = call.d_output[i] * call.inputs[1][factor_of(i)];
    }
    for (std::uint64_t f = 0; f < pass.size() * channels_ && d_factors != nullptr; ++f) {
      const std::uint64_t first = f / channels_ * pixels_ * channels_ + f % channels_;
      double sum = 0;
      for (std::uint64_t p = 0; p < pixels_; ++p) {
        sum += double{call.d_output[first + p * channels_]} * call.inputs[0][first + p * channels_];
      }
      d_factors[f] = static_cast<float>(sum);
    }
  }

 private:
  [[nodiscard]] std::uint64_t factor_of(std::uint64_t i) const {
    return i / (pixels_ * channels_) * channels_ + i % channels_;
  }

  std::uint64_t pixels_, channels_;
};

// Draws the mask described in nn/cpu/kernel_calls.h.
class DropoutOp final : public ReferenceOp {
 public:
  DropoutOp(const Dropout& op, const OpPlace& place)
      : size_(place.output.size()),
        key_(place.key),
        dropped_(static_cast<std::uint64_t>(std::lround(op.probability * 65536))),
        scale_(static_cast<float>(1 / (1 - op.probability))) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i)
      call.output[i] = passed(pass, i, call.inputs[0][i]);
  }
  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    for (std::uint64_t i = 0; i < pass.size() * size_; ++i) {
      call.d_inputs[0].to[i] = passed(pass, i, call.d_output[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  [[nodiscard]] float passed(const Pass& pass, std::uint64_t i, float value) const {
    if (!pass.training) return value;
    const MicroBatch& batch = pass.batch;
    const std::uint64_t feature = i % size_, together = feature % 4;
    const std::uint64_t key = hash(batch.seed, batch.epoch, batch.positions[i / size_], key_);
    const std::uint64_t bits = hash(key, feature - together) >> (16 * together) & 0xFFFF;
    return bits < dropped_ ? 0 : value * scale_;
  }

  std::uint64_t size_, key_, dropped_;  // dropped_: of 65536
  float scale_;
};

}  // namespace

STEELYARD_OP(Activation, ActivationOp)
STEELYARD_OP(Add, AddOp)
STEELYARD_OP(Scale, ScaleOp)
STEELYARD_OP(Dropout, DropoutOp)

}  // namespace steelyard::nn::reference
