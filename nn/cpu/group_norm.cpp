// Group norm, one sample after the other, so that the second sweep finds the sample in the caches: the sums
// of each channel by nn/cpu/columns.h, and from them those of its group. With g = d_output weight,
// r = 1 / deviation and N numbers in a group:
//   d_x = r (g - sum g / N - (x - mean) r^2 sum g (x - mean) / N)
#include <algorithm>
#include <cmath>

#include "core/check.h"
#include "nn/cpu/columns.h"
#include "nn/cpu/ops.h"

namespace steelyard::nn::cpu {
namespace {

class GroupNormOp final : public Op {
 public:
  GroupNormOp(const GroupNorm& op, const OpPlace& place)
      : epsilon_(op.epsilon),
        groups_(op.groups),
        pixels_(std::size_t{place.output.height} * place.output.width),
        channels_(place.output.channels),
        length_(channels_ / groups_),
        numbers_(static_cast<double>(pixels_ * length_)),
        columns_(channels_),
        statistics_(groups_ * place.micro_batch),
        d_weight_(channels_),
        d_bias_(channels_) {
    for (auto* const each : {&mean_, &scale_, &bias_, &by_x_, &constant_}) each->resize(columns_.width());
  }

  void forward(const Pass& pass, const Forward& call) override {
    std::copy_n(call.parameters[1], channels_, bias_.begin());
    columns_.repeat(bias_);
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * pixels_ * channels_;
      measure(call.inputs[0] + at, &statistics_[s * groups_]);
      place_statistics(s, call.parameters[0]);
      columns_.normalize(pixels_, call.inputs[0] + at, mean_.data(), scale_.data(), bias_.data(), nullptr,
                         false, call.output + at);
    }
  }

  // Padded samples need no care: a gradient of zeros gives zeros.
  void backward(const Pass& pass, const Backward& call) override {
    std::fill(d_weight_.begin(), d_weight_.end(), 0);
    std::fill(d_bias_.begin(), d_bias_.end(), 0);
    for (std::size_t s = 0; s < pass.size(); ++s) backward_of(s, call);
    for (std::size_t c = 0; c < channels_; ++c) {
      float &d_weight = call.d_parameters[0][c], &d_bias = call.d_parameters[1][c];
      d_weight = static_cast<float>(d_weight_[c] + (call.add ? d_weight : 0));
      d_bias = static_cast<float>(d_bias_[c] + (call.add ? d_bias : 0));
    }
  }

  [[nodiscard]] Traits traits() const override { return {.d_in_place = true, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return statistics_.size() * sizeof(Statistics) + 5 * columns_.width() * sizeof(float) +
           2 * (channels_ + columns_.width()) * sizeof(double);
  }
  [[nodiscard]] std::string implementation() const override { return "direct"; }

 private:
  struct Statistics {
    double mean, reciprocal;
  };

  void measure(const float* x, Statistics* groups) {
    std::copy_n(x, channels_, mean_.begin());
    columns_.repeat(mean_);
    const Columns::Sums sums = columns_.sums(pixels_, x, mean_.data());
    const auto pixels = static_cast<double>(pixels_);
    for (std::size_t g = 0; g < groups_; ++g) {
      const auto mean_of = [&](std::size_t c) { return mean_[c] + sums.first[c] / pixels; };
      double mean = 0, squares = 0;  // the latter around the mean
      for (std::size_t c = g * length_; c < (g + 1) * length_; ++c) {
        mean += mean_of(c) / static_cast<double>(length_);
      }
      for (std::size_t c = g * length_; c < (g + 1) * length_; ++c) {
        const double away = mean_of(c) - mean;
        squares += sums.second[c] - sums.first[c] * sums.first[c] / pixels + pixels * away * away;
      }
      groups[g] = {mean, 1 / std::sqrt(std::max(0.0, squares / numbers_) + epsilon_)};
    }
  }

  // Fills mean_ and scale_ for a sample.
  void place_statistics(std::size_t sample, const float* weight) {
    for (std::size_t c = 0; c < channels_; ++c) {
      const Statistics& group = statistics_[sample * groups_ + c / length_];
      mean_[c] = static_cast<float>(group.mean);
      scale_[c] = static_cast<float>(group.reciprocal * weight[c]);
    }
    columns_.repeat(mean_);
    columns_.repeat(scale_);
  }

  void backward_of(std::size_t sample, const Backward& call) {
    const std::size_t at = sample * pixels_ * channels_;
    const float *x = call.inputs[0] + at, *d_output = call.d_output + at, *weight = call.parameters[0];
    place_statistics(sample, weight);
    const Columns::Sums sums =
        columns_.gradient_sums(pixels_, x, mean_.data(), d_output, nullptr, nullptr, nullptr);
    for (std::size_t g = 0; g < groups_; ++g) {
      const double r = statistics_[sample * groups_ + g].reciprocal;
      double sum = 0, dot = 0;
      for (std::size_t c = g * length_; c < (g + 1) * length_; ++c) {
        d_weight_[c] += r * sums.second[c];
        d_bias_[c] += sums.first[c];
        sum += weight[c] * sums.first[c];
        dot += weight[c] * sums.second[c];
      }
      const auto first = static_cast<std::ptrdiff_t>(g * length_);
      std::fill_n(by_x_.begin() + first, length_, static_cast<float>(r * r * r * dot / numbers_));
      std::fill_n(constant_.begin() + first, length_, static_cast<float>(r * sum / numbers_));
    }
    const InputGradient d_x = call.d_inputs[0];
    if (d_x.to == nullptr) return;
    columns_.repeat(by_x_);
    columns_.repeat(constant_);
    columns_.gradient(pixels_, x, mean_.data(), d_output, scale_.data(), by_x_.data(), constant_.data(),
                      d_x.add, d_x.to + at);
  }

  double epsilon_;
  std::size_t groups_, pixels_, channels_, length_;  // channels of a group
  double numbers_;
  Columns columns_;
  std::vector<Statistics> statistics_;  // [sample][group], from forward to backward
  std::vector<float> mean_, scale_, bias_, by_x_, constant_;
  std::vector<double> d_weight_, d_bias_;
};

}  // namespace

std::unique_ptr<Op> make(const GroupNorm& op, const OpPlace& place) {
  CHECK(place.order == Order::samples, "group norm works in the order of samples");
  return std::make_unique<GroupNormOp>(op, place);
}

}  // namespace steelyard::nn::cpu
