// Group norm and layer norm, which is the same with one place and one group: both normalise sets of numbers
// of one sample, each number with the weight and bias of its channel.
#include <cmath>
#include <vector>

#include "nn/reference/ops.h"

namespace steelyard::nn::reference {
namespace {

class SetNormOp final : public Op {
 public:
  // `sets` sets in each of samples x `blocks` blocks of `pixels` x `channels`.
  SetNormOp(double epsilon, std::uint64_t blocks, std::uint64_t pixels, std::uint64_t channels,
            std::uint64_t sets)
      : epsilon_(epsilon), blocks_(blocks), pixels_(pixels), channels_(channels), sets_(sets) {}

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

  [[nodiscard]] Traits traits() const override { return {}; }
  [[nodiscard]] std::string implementation() const override { return "reference"; }

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
  std::uint64_t blocks_, pixels_, channels_, sets_;
};

}  // namespace

std::unique_ptr<Op> make(const GroupNorm& op, const OpPlace& place) {
  const Shape shape = place.output;
  return std::make_unique<SetNormOp>(op.epsilon, 1, std::uint64_t{shape.height} * shape.width, shape.channels,
                                     op.groups);
}

std::unique_ptr<Op> make(const LayerNorm& op, const OpPlace& place) {
  const Shape shape = place.output;
  return std::make_unique<SetNormOp>(op.epsilon, std::uint64_t{shape.height} * shape.width, 1, shape.channels,
                                     1);
}

}  // namespace steelyard::nn::reference
