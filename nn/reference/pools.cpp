#include <algorithm>
#include <cmath>
#include <vector>

#include "nn/op_table.h"

namespace steelyard::nn::reference {
namespace {

// The windows of a pool over pictures in the order of samples, for the pools of the reference.
struct Windows {
  Shape in, out;
  std::uint32_t size, stride, padding;

  // Calls visit(place in the output, place in the input) for every output value and, in reading order, every
  // place of its window inside the picture.
  template <class Visit>
  void each(std::uint64_t samples, Visit visit) const {
    for (std::uint64_t to = 0; to < samples * out.size(); ++to) {
      const std::uint64_t c = to % out.channels, x = to / out.channels % out.width;
      const std::uint64_t y = to / out.channels / out.width % out.height, s = to / out.size();
      for (std::uint64_t r = 0; r < size; ++r) {
        for (std::uint64_t q = 0; q < size; ++q) {
          // Places above or left of the picture wrap to large numbers.
          const std::uint64_t row = y * stride + r - padding, column = x * stride + q - padding;
          if (row >= in.height || column >= in.width) continue;
          visit(to, ((s * in.height + row) * in.width + column) * in.channels + c);
        }
      }
    }
  }
};

class MaxPoolOp final : public ReferenceOp {
 public:
  MaxPoolOp(const MaxPool& op, const OpPlace& place)
      : windows_{place.inputs[0], place.output, op.size, op.stride, op.padding} {}

  void forward(const Pass& pass, const Forward& call) override {
    const std::vector<std::uint64_t> best = greatest(pass, call.inputs[0]);
    for (std::uint64_t i = 0; i < best.size(); ++i) call.output[i] = call.inputs[0][best[i]];
  }

  void backward(const Pass& pass, const Backward& call) override {
    float* d_input = call.d_inputs[0].to;
    if (d_input == nullptr) return;
    std::fill_n(d_input, windows_.in.size() * pass.size(), 0.0F);
    const std::vector<std::uint64_t> best = greatest(pass, call.inputs[0]);
    for (std::uint64_t i = 0; i < best.size(); ++i) d_input[best[i]] += call.d_output[i];
  }

 private:
  // The place of each window's maximum: the first of several, or the first NaN.
  [[nodiscard]] std::vector<std::uint64_t> greatest(const Pass& pass, const float* input) const {
    constexpr std::uint64_t none = ~std::uint64_t{0};
    std::vector<std::uint64_t> best(windows_.out.size() * pass.size(), none);
    windows_.each(pass.size(), [&](std::uint64_t to, std::uint64_t from) {
      const bool is_nan = best[to] != none && std::isnan(input[best[to]]);
      if (best[to] == none || (!is_nan && !(input[from] <= input[best[to]]))) best[to] = from;
    });
    return best;
  }

  Windows windows_;
};

class AveragePoolOp final : public ReferenceOp {
 public:
  AveragePoolOp(const AveragePool& op, const OpPlace& place)
      : windows_{place.inputs[0], place.output, op.size, op.stride, op.padding},
        share_(1.0 / (double{1} * op.size * op.size)) {}

  void forward(const Pass& pass, const Forward& call) override {
    std::vector<double> sums(windows_.out.size() * pass.size());
    windows_.each(pass.size(),
                  [&](std::uint64_t to, std::uint64_t from) { sums[to] += call.inputs[0][from] * share_; });
    for (std::uint64_t i = 0; i < sums.size(); ++i) call.output[i] = static_cast<float>(sums[i]);
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    std::vector<double> sums(windows_.in.size() * pass.size());
    windows_.each(pass.size(),
                  [&](std::uint64_t to, std::uint64_t from) { sums[from] += call.d_output[to] * share_; });
    for (std::uint64_t i = 0; i < sums.size(); ++i) call.d_inputs[0].to[i] = static_cast<float>(sums[i]);
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  Windows windows_;
  double share_;
};

class GlobalAveragePoolOp final : public ReferenceOp {
 public:
  GlobalAveragePoolOp(const GlobalAveragePool& /*op*/, const OpPlace& place)
      : pixels_(pixels_of(place.inputs[0])), channels_(place.inputs[0].channels) {}

  void forward(const Pass& pass, const Forward& call) override {
    for (std::uint64_t s = 0; s < pass.size(); ++s) {
      for (std::uint64_t c = 0; c < channels_; ++c) {
        double sum = 0;
        for (std::uint64_t p = 0; p < pixels_; ++p) sum += call.inputs[0][(s * pixels_ + p) * channels_ + c];
        call.output[s * channels_ + c] = static_cast<float>(sum / static_cast<double>(pixels_));
      }
    }
  }

  void backward(const Pass& pass, const Backward& call) override {
    if (call.d_inputs[0].to == nullptr) return;
    for (std::uint64_t i = 0; i < pass.size() * pixels_ * channels_; ++i) {
      const std::uint64_t sample = i / (pixels_ * channels_), channel = i % channels_;
      call.d_inputs[0].to[i] =
          static_cast<float>(call.d_output[sample * channels_ + channel] / static_cast<double>(pixels_));
    }
  }

  [[nodiscard]] Traits traits() const override { return {.reads_inputs = false}; }

 private:
  std::uint64_t pixels_, channels_;
};

}  // namespace

STEELYARD_OP(MaxPool, MaxPoolOp)
STEELYARD_OP(AveragePool, AveragePoolOp)
STEELYARD_OP(GlobalAveragePool, GlobalAveragePoolOp)

}  // namespace steelyard::nn::reference
