#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

class BatchNormOp final : public ReferenceOp {
 public:
  BatchNormOp(const BatchNorm& op, const OpPlace& place)
      : op_(op),
        pixels_(pixels_of(place.output)),
        channels_(place.output.channels),
        mean_(channels_),
        variance_(channels_) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t c = 0; c < channels_; ++c) {
      if (pass.training) {
        measure(pass, call.inputs[0], c);
      } else {
        mean_[c] = call.parameters[2][c];
        variance_[c] = call.parameters[3][c];
      }
      const double deviation = std::sqrt(variance_[c] + op_.epsilon);
      for (std::uint64_t p = 0; p < pass.size() * pixels_; ++p) {
        const std::uint64_t at = p * channels_ + c;
        call.output[at] = static_cast<float>(
            (call.inputs[0][at] - mean_[c]) / deviation * call.parameters[0][c] + call.parameters[1][c]);
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::uint64_t places = pass.batch.count * pixels_;
    for (std::uint64_t c = 0; c < channels_; ++c) {
      const double deviation = std::sqrt(variance_[c] + op_.epsilon);
      double d_weight = 0, d_bias = 0;
      const auto normal = [&](std::uint64_t at) { return (call.inputs[0][at] - mean_[c]) / deviation; };
      for (std::uint64_t p = 0; p < places; ++p) {
        const std::uint64_t at = p * channels_ + c;
        d_weight += call.d_output[at] * normal(at);
        d_bias += call.d_output[at];
      }
      const auto n = static_cast<double>(std::max<std::uint64_t>(places, 1));
      for (std::uint64_t p = 0; p < pass.size() * pixels_ && call.d_inputs[0].to != nullptr; ++p) {
        const std::uint64_t at = p * channels_ + c;
        const double d_normal = call.d_output[at] - d_bias / n - normal(at) * d_weight / n;
        call.d_inputs[0].to[at] =
            p < places ? static_cast<float>(d_normal * call.parameters[0][c] / deviation) : 0;
      }
      const double unbiased = places > 1 ? variance_[c] * n / (n - 1) : variance_[c];
      const double gradients[] = {d_weight, d_bias, mean_[c] * pass.batch.count, unbiased * pass.batch.count};
      for (std::size_t i = 0; i < 4; ++i) {
        float& to = call.d_parameters[i][c];
        to = static_cast<float>(call.add ? to + gradients[i] : gradients[i]);
      }
    }
  }

  [[nodiscard]] std::uint64_t bytes() const override { return 2 * channels_ * sizeof(double); }

 private:
  void measure(const Pass& pass, const float* x, std::uint64_t c) {
    const std::uint64_t places = pass.batch.count * pixels_;
    double sum = 0, squares = 0;
    for (std::uint64_t p = 0; p < places; ++p) sum += x[p * channels_ + c];
    mean_[c] = sum / static_cast<double>(std::max<std::uint64_t>(places, 1));
    for (std::uint64_t p = 0; p < places; ++p) {
      const double centred = x[p * channels_ + c] - mean_[c];
      squares += centred * centred;
    }
    variance_[c] = squares / static_cast<double>(std::max<std::uint64_t>(places, 1));
  }

  BatchNorm op_;
  std::uint64_t pixels_, channels_;
  std::vector<double> mean_, variance_;  // of the batch, from forward to backward
};

// Group norm and layer norm (the same with one place and one group): both normalise sets of numbers of one
// sample, with the weight and bias of each number's channel.

class SetNormOp final : public ReferenceOp {
 public:
  SetNormOp(const GroupNorm& op, const OpPlace& place)
      : epsilon_(op.epsilon),
        blocks_(1),
        pixels_(pixels_of(place.output)),
        channels_(place.output.channels),
        sets_(op.groups) {}
  SetNormOp(const LayerNorm& op, const OpPlace& place)
      : epsilon_(op.epsilon),
        blocks_(pixels_of(place.output)),
        pixels_(1),
        channels_(place.output.channels),
        sets_(1) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t set = 0; set < pass.size() * blocks_ * sets_; ++set) {
      const Statistics statistics = measured(call.inputs[0], set);
      each(set, [&](std::uint64_t at, std::uint64_t c) {
        call.output[at] = static_cast<float>(statistics.normal(call.inputs[0][at]) * call.parameters[0][c] +
                                             call.parameters[1][c]);
      });
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    std::vector<double> d_weight(channels_), d_bias(channels_);
    for (std::uint64_t set = 0; set < pass.size() * blocks_ * sets_; ++set) {
      const Statistics statistics = measured(call.inputs[0], set);
      double sum = 0, dot = 0;
      each(set, [&](std::uint64_t at, std::uint64_t c) {
        const double normal = statistics.normal(call.inputs[0][at]), g = call.d_output[at];
        d_weight[c] += g * normal;
        d_bias[c] += g;
        sum += g * call.parameters[0][c];
        dot += g * call.parameters[0][c] * normal;
      });
      if (call.d_inputs[0].to == nullptr) continue;
      each(set, [&](std::uint64_t at, std::uint64_t c) {
        const double g = double{call.d_output[at]} * call.parameters[0][c];
        const double normal = statistics.normal(call.inputs[0][at]);
        call.d_inputs[0].to[at] =
            static_cast<float>((g - sum / numbers() - normal * dot / numbers()) / statistics.deviation);
      });
    }
    for (std::uint64_t c = 0; c < channels_; ++c) {
      call.d_parameters[0][c] = static_cast<float>(d_weight[c] + (call.add ? call.d_parameters[0][c] : 0));
      call.d_parameters[1][c] = static_cast<float>(d_bias[c] + (call.add ? call.d_parameters[1][c] : 0));
    }
  }

 private:
  struct Statistics {
    double mean, deviation;
    [[nodiscard]] double normal(double x) const { return (x - mean) / deviation; }
  };

  [[nodiscard]] double numbers() const { return static_cast<double>(pixels_ * channels_ / sets_); }

  // Calls visit(place in the buffer, channel) for each number of a set.
  template <class Visit>
  void each(std::uint64_t set, Visit visit) const {
    const std::uint64_t length = channels_ / sets_, first = set % sets_ * length;
    for (std::uint64_t p = 0; p < pixels_; ++p) {
      for (std::uint64_t c = first; c < first + length; ++c) {
        visit((set / sets_ * pixels_ + p) * channels_ + c, c);
      }
    }
  }

  [[nodiscard]] Statistics measured(const float* x, std::uint64_t set) const {
    double sum = 0, squares = 0;
    each(set, [&](std::uint64_t at, std::uint64_t) { sum += x[at]; });
    const double mean = sum / numbers();
    each(set, [&](std::uint64_t at, std::uint64_t) { squares += (x[at] - mean) * (x[at] - mean); });
    return {mean, std::sqrt(squares / numbers() + epsilon_)};
  }

  double epsilon_;
  // sets_ sets in each of samples x blocks_ blocks of pixels_ x channels_.
  std::uint64_t blocks_, pixels_, channels_, sets_;
};

}  // namespace

STEELYARD_OP(BatchNorm, BatchNormOp)
STEELYARD_OP(GroupNorm, SetNormOp)
STEELYARD_OP(LayerNorm, SetNormOp)

}  // namespace steelyard::nn::reference
