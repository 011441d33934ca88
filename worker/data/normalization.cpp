#include "worker/data/normalization.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace steelyard {

PaddedDataSet::PaddedDataSet(std::shared_ptr<const DataSet> inner, std::uint32_t height, std::uint32_t width,
                             const std::vector<float>& fill)
    : inner_(std::move(inner)), shape_{height, width, inner_->shape().channels} {
  const nn::Shape its = inner_->shape();
  if (its.height > height || its.width > width)
    throw Failure(ExitCode::configuration,
                  "pad = " + std::to_string(height) + ": the pictures are " + std::to_string(its.height) +
                      " x " + std::to_string(its.width) + " already: give no less, or leave pad out");
  empty_.resize(shape_.size());
  for (std::size_t i = 0; i < empty_.size(); ++i) empty_[i] = fill.empty() ? 0 : fill[i % shape_.channels];
}

// Reads the picture into the beginning of `into`, then moves its rows to their places, the last first: each
// moves towards the end.
void PaddedDataSet::read(std::uint64_t index, float* into, std::uint32_t* labels) const {
  inner_->read(index, into, labels);
  const nn::Shape its = inner_->shape();
  const std::uint64_t channels = shape_.channels, row = its.width * channels;
  const std::uint64_t top = (shape_.height - its.height) / 2, left = (shape_.width - its.width) / 2;
  const auto black = [&](std::uint64_t begin, std::uint64_t end) {
    std::copy(empty_.begin() + static_cast<std::ptrdiff_t>(begin),
              empty_.begin() + static_cast<std::ptrdiff_t>(end), into + begin);
  };
  std::uint64_t filled = shape_.size();  // all from here on is in place
  for (std::uint64_t y = its.height; y-- > 0;) {
    const std::uint64_t to = ((top + y) * shape_.width + left) * channels;
    std::copy_backward(into + y * row, into + (y + 1) * row, into + to + row);
    black(to + row, filled);
    filled = to;
  }
  black(0, filled);
}

double deviation_of(double variance, double mean) {
  return variance <= 1e-12 * mean * mean ? 1 : std::sqrt(variance);
}

namespace {

double of_channel(const std::vector<double>& values, std::size_t channel) {
  return values.size() == 1 ? values[0] : values.at(channel);
}

}  // namespace

Normalization normalization_of(const Histograms& counts) {
  Normalization result{{}, {}};
  for (const auto& channel : counts) {
    std::uint64_t count = 0, sum = 0, squares = 0;
    for (std::uint64_t value = 0; value < channel.size(); ++value) {
      count += channel[value];
      sum += channel[value] * value;
      squares += channel[value] * value * value;
    }
    const auto n = static_cast<double>(std::max<std::uint64_t>(count, 1));
    const double mean = static_cast<double>(sum) / n;
    const double variance = static_cast<double>(squares) / n - mean * mean;
    result.mean.push_back(mean / 255);
    result.deviation.push_back(variance <= 0 ? 1 : std::sqrt(variance) / 255);
  }
  return result;
}

// Two passes, in double: columns may lie far from zero.
Normalization measure(const DataSet& data) {
  const std::uint64_t samples = std::min(data.size(), measured_samples);
  const std::uint64_t size = data.shape().size(), channels = data.shape().channels;
  std::vector<float> values(size);
  std::vector<std::uint32_t> labels(data.labels());
  // The mean of this function of each value and its channel; NaN, a missing value, does not count.
  const auto mean_of = [&](const auto& function) {
    std::vector<double> sums(channels);
    std::vector<std::uint64_t> counts(channels);
    for (std::uint64_t index = 0; index < samples; ++index) {
      data.read(index, values.data(), labels.data());
      for (std::uint64_t i = 0; i < size; ++i) {
        if (std::isnan(values[i])) continue;
        sums[i % channels] += function(double{values[i]}, i % channels);
        ++counts[i % channels];
      }
    }
    for (std::uint64_t i = 0; i < channels; ++i)
      sums[i] /= static_cast<double>(std::max<std::uint64_t>(counts[i], 1));
    return sums;
  };
  const std::vector<double> mean = mean_of([](double value, std::uint64_t) { return value; });
  std::vector<double> deviation =
      mean_of([&](double value, std::uint64_t channel) { return std::pow(value - mean[channel], 2); });
  for (std::uint64_t i = 0; i < channels; ++i) deviation[i] = deviation_of(deviation[i], mean[i]);
  return {mean, std::move(deviation)};
}

// A table of the 256 byte values: one division each, instead of one per read.
std::array<float, 256> floats_of_bytes(const Normalization& by, std::size_t channel) {
  const double mean = of_channel(by.mean, channel), deviation = of_channel(by.deviation, channel);
  std::array<float, 256> floats{};
  for (std::size_t value = 0; value < floats.size(); ++value)
    floats[value] = static_cast<float>((static_cast<double>(value) / 255 - mean) / deviation);
  return floats;
}

std::vector<float> zero_inputs(const Normalization& by, std::size_t channels) {
  std::vector<float> zeros;
  for (std::size_t i = 0; i < channels; ++i)
    zeros.push_back(static_cast<float>((0 - of_channel(by.mean, i)) / of_channel(by.deviation, i)));
  return zeros;
}

}  // namespace steelyard
