#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "core/check.h"
#include "nn/cpu/columns.h"
#include "nn/cpu/kernel_calls.h"
#include "nn/cpu/kernels.h"
#include "nn/cpu/storage.h"
#include "nn/op_table.h"

namespace steelyard::nn::cpu {

// Batch norm in two sweeps forward (statistics, and the output with its tail) and two backward (the gradient
// behind the tail with its sums, and the gradient of the input). With g the gradient behind the tail, n
// places and r = 1 / sqrt(variance + epsilon):
//   d_bias = sum g,  d_weight = r sum g (x - mean)
//   d_x = weight r (g - d_bias / n - (x - mean) r d_weight / n)

namespace {

enum : std::size_t { weight, bias, running_mean, running_var };  // the parameters

template <class T>
class BatchNormOp final : public DirectOp {
 public:
  BatchNormOp(const BatchNorm& op, Shape shape, FusedTail tail)
      : epsilon_(op.epsilon),
        tail_(tail),
        pixels_(pixels_of(shape)),
        channels_(shape.channels),
        columns_(channels_),
        variance_(channels_) {
    for (auto* const each : {&mean_, &reciprocal_, &scale_, &bias_, &by_x_, &constant_}) {
      each->resize(columns_.width());
    }
  }

  void forward(const Pass& pass, const Forward& call) override {
    if (pass.training) {
      measure(pass, stored<T>(call.inputs[0]));
    } else {
      std::copy_n(call.parameters[running_mean], channels_, mean_.begin());
      std::copy_n(call.parameters[running_var], channels_, variance_.begin());
    }
    for (std::size_t c = 0; c < channels_; ++c) {
      reciprocal_[c] = static_cast<float>(1 / std::sqrt(variance_[c] + epsilon_));
      scale_[c] = reciprocal_[c] * call.parameters[weight][c];
      bias_[c] = call.parameters[bias][c];
    }
    for (auto* const each : {&mean_, &scale_, &bias_}) columns_.repeat(*each);
    columns_.normalize(pass.size() * pixels_, stored<T>(call.inputs[0]), mean_.data(), scale_.data(),
                       bias_.data(), tail_.add ? stored<T>(call.inputs[1]) : nullptr, tail_.relu,
                       stored<T>(call.output));
  }

  void backward(const Pass& pass, const Backward& call) override {
    const std::size_t rows = pass.batch.count * pixels_;
    const T* const x = stored<T>(call.inputs[0]);
    const InputGradient d_x = call.d_inputs[0];
    const InputGradient d_residual = tail_.add ? call.d_inputs[1] : InputGradient{};
    // The buffer for the gradient behind the tail: the residual's, if needed, else d_output.
    float* const gradient = d_residual.to != nullptr && !d_residual.add ? d_residual.to : call.d_output;
    const bool writes = tail_.relu || gradient != call.d_output;
    const typename ColumnsOf<T>::Sums sums = columns_.gradient_sums(
        rows, x, mean_.data(), stored<T>(call.d_output), tail_.relu ? stored<T>(call.output) : nullptr,
        writes ? stored<T>(gradient) : nullptr, d_residual.add ? stored<T>(d_residual.to) : nullptr);
    const double places = std::max(1.0, static_cast<double>(rows));
    for (std::size_t c = 0; c < channels_; ++c) {
      const double r = reciprocal_[c], d_weight = r * sums.second[c];
      by_x_[c] = static_cast<float>(scale_[c] * r * d_weight / places);
      constant_[c] = static_cast<float>(scale_[c] * sums.first[c] / places);
      put(call, weight, c, d_weight);
      put(call, bias, c, sums.first[c]);
      put(call, running_mean, c, double{mean_[c]} * pass.batch.count);
      put(call, running_var, c, variance_[c] * (places / std::max(1.0, places - 1)) * pass.batch.count);
    }
    if (gradient != call.d_output) clear_padding(pass, stored<T>(gradient));
    if (d_x.to == nullptr) return;
    for (auto* const each : {&by_x_, &constant_}) columns_.repeat(*each);
    columns_.gradient(rows, x, mean_.data(), stored<T>(gradient), scale_.data(), by_x_.data(),
                      constant_.data(), d_x.add, stored<T>(d_x.to));
    if (!d_x.add) clear_padding(pass, stored<T>(d_x.to));
  }

  [[nodiscard]] Traits traits() const override {
    return {.d_in_place = true, .reads_inputs = true, .reads_output = tail_.relu, .adds = true};
  }
  [[nodiscard]] std::uint64_t bytes() const override {
    return 8 * columns_.width() * sizeof(float) + 3 * channels_ * sizeof(double);
  }

 private:
  // Variances are computed from the squares after subtracting the first value of each channel, so that a mean
  // far from zero costs no precision.
  void measure(const Pass& pass, const T* x) {
    const std::size_t rows = pass.batch.count * pixels_;
    const double places = std::max(1.0, static_cast<double>(rows));
    first_pixel(x);
    columns_.repeat(mean_);
    const typename ColumnsOf<T>::Sums sums = columns_.sums(rows, x, mean_.data());
    for (std::size_t c = 0; c < channels_; ++c) {
      const double moved = sums.first[c] / places;
      variance_[c] = std::max(0.0, sums.second[c] / places - moved * moved);
      mean_[c] = static_cast<float>(mean_[c] + moved);
    }
  }

  void first_pixel(const T* x) {
    if constexpr (std::is_same_v<T, float>) {
      std::copy_n(x, channels_, mean_.begin());
    } else {
      storage_kernels().widen(channels_, x, mean_.data());
    }
  }

  static void put(const Backward& call, std::size_t parameter, std::size_t channel, double value) {
    float& to = call.d_parameters[parameter][channel];
    to = static_cast<float>(call.add ? to + value : value);
  }

  void clear_padding(const Pass& pass, T* gradient) const {
    const std::size_t sample = pixels_ * channels_;
    std::fill(gradient + pass.batch.count * sample, gradient + pass.size() * sample, T{});
  }

  double epsilon_;
  FusedTail tail_;
  std::size_t pixels_, channels_;
  ColumnsOf<T> columns_;
  std::vector<double> variance_;
  std::vector<float> mean_, reciprocal_, scale_, bias_;  // from forward to backward
  std::vector<float> by_x_, constant_;
};

// Group norm, sample by sample, so that the second sweep finds the sample in the caches: sums per channel by
// nn/cpu/columns.h, and from them those of the groups. With g = d_output weight, r = 1 / deviation and N
// numbers in a group:
//   d_x = r (g - sum g / N - (x - mean) r^2 sum g (x - mean) / N)

class GroupNormOp final : public DirectOp {
 public:
  GroupNormOp(const GroupNorm& op, const OpPlace& place)
      : epsilon_(op.epsilon),
        groups_(op.groups),
        pixels_(pixels_of(place.output)),
        channels_(place.output.channels),
        length_(channels_ / groups_),
        numbers_(static_cast<double>(pixels_ * length_)),
        columns_(channels_),
        statistics_(groups_ * place.micro_batch),
        d_weight_(channels_),
        d_bias_(channels_) {
    CHECK(place.order == Order::samples, "group norm works in the order of samples");
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

  // Padded samples need no special case: a gradient of zeros gives zeros.
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
      double mean = 0, squares = 0;  // squares: around the mean
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

  // Sets mean_ and scale_ for a sample.
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
  std::size_t groups_, pixels_, channels_, length_;  // length_: channels of a group
  double numbers_;
  Columns columns_;
  std::vector<Statistics> statistics_;  // [sample][group], from forward to backward
  std::vector<float> mean_, scale_, bias_, by_x_, constant_;
  std::vector<double> d_weight_, d_bias_;
};

class LayerNormOp final : public DirectOp {
 public:
  LayerNormOp(const LayerNorm& op, const OpPlace& place)
      : kernels_(at_level(cpu_level(), baseline::layer_norm, v3::layer_norm, v4::layer_norm)),
        epsilon_(static_cast<float>(op.epsilon)),
        tokens_(pixels_of(place.output)),
        channels_(place.output.channels),
        statistics_(2 * tokens_ * place.micro_batch),
        of_sample_(2 * channels_),
        of_all_(2 * channels_) {
    CHECK(place.order == Order::samples, "layer norm works in the order of samples");
  }

  void forward(const Pass& pass, const Forward& call) override {
    kernels_.forward(pass.size() * tokens_, channels_, call.inputs[0], call.parameters[0], call.parameters[1],
                     epsilon_, statistics_.data(), call.output);
  }

  // Sums of weight and bias are floats within a sample and doubles over all. Padded samples need no special
  // case: a gradient of zeros gives zeros.
  void backward(const Pass& pass, const Backward& call) override {
    const InputGradient d_x = call.d_inputs[0];
    std::fill(of_all_.begin(), of_all_.end(), 0);
    for (std::size_t s = 0; s < pass.size(); ++s) {
      const std::size_t at = s * tokens_ * channels_;
      std::fill(of_sample_.begin(), of_sample_.end(), 0.0F);
      kernels_.backward(tokens_, channels_, call.inputs[0] + at, call.parameters[0],
                        statistics_.data() + 2 * s * tokens_, call.d_output + at, of_sample_.data(),
                        of_sample_.data() + channels_, d_x.add, d_x.to == nullptr ? nullptr : d_x.to + at);
      for (std::size_t i = 0; i < of_all_.size(); ++i) of_all_[i] += of_sample_[i];
    }
    for (std::size_t i = 0; i < of_all_.size(); ++i) {
      float& to = call.d_parameters[i / channels_][i % channels_];
      to = static_cast<float>(call.add ? to + of_all_[i] : of_all_[i]);
    }
  }

  [[nodiscard]] Traits traits() const override { return {.d_in_place = true, .adds = true}; }
  [[nodiscard]] std::uint64_t bytes() const override {
    return (statistics_.size() + of_sample_.size()) * sizeof(float) + of_all_.size() * sizeof(double);
  }

 private:
  const LayerNormTable& kernels_;
  float epsilon_;
  std::size_t tokens_, channels_;
  std::vector<float> statistics_;  // of each token, from forward to backward
  std::vector<float> of_sample_;   // d_weight and d_bias
  std::vector<double> of_all_;
};

}  // namespace

std::unique_ptr<Op> make_batch_norm(const BatchNorm& op, const OpPlace& place, FusedTail tail) {
  CHECK(place.order == Order::samples, "batch norm works in the order of samples");
  return in_storage(place.storage, [&](auto number) -> std::unique_ptr<Op> {
    return std::make_unique<BatchNormOp<decltype(number)>>(op, place.output, tail);
  });
}

std::unique_ptr<Op> make(const BatchNorm& op, const OpPlace& place) { return make_batch_norm(op, place, {}); }

STEELYARD_OP(GroupNorm, GroupNormOp)
STEELYARD_OP(LayerNorm, LayerNormOp)

}  // namespace steelyard::nn::cpu
