// Scales raw values to inputs with mean about 0 and deviation about 1 (Normalization,
// include/steelyard/data_set.h). Both are measured once, over the training set, channel by channel, and used
// for both sets. In a table every column is a channel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "worker/data/samples.h"

namespace steelyard {

// PaddedDataSet: centres the pictures of another data set in larger ones, for models of a fixed size (28 x 28
// for 32 x 32).
class PaddedDataSet final : public DataSet {
 public:
  // `fill`: per channel, for the area beyond the pictures; empty: zeros. Throws Failure (configuration) for a
  // size smaller than the pictures.
  PaddedDataSet(std::shared_ptr<const DataSet> inner, std::uint32_t height, std::uint32_t width,
                const std::vector<float>& fill);

  [[nodiscard]] std::uint64_t size() const override { return inner_->size(); }
  [[nodiscard]] nn::Shape shape() const override { return shape_; }
  [[nodiscard]] std::uint32_t classes() const override { return inner_->classes(); }
  [[nodiscard]] std::uint32_t labels() const override { return inner_->labels(); }
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override;
  void prepare(std::span<const std::uint64_t> indices) const override { inner_->prepare(indices); }
  [[nodiscard]] std::string name(std::uint64_t index) const override { return inner_->name(index); }
  [[nodiscard]] std::uint32_t targets() const override { return inner_->targets(); }
  void read_targets(std::uint64_t index, float* into) const override { inner_->read_targets(index, into); }

 private:
  const std::shared_ptr<const DataSet> inner_;
  const nn::Shape shape_;
  std::vector<float> empty_;  // a sample of the fill alone
};

// Number of samples measured, from the first on: a data set may be larger than memory.
inline constexpr std::uint64_t measured_samples = 1 << 16;

// Counts of each byte value, per channel: they give the same sums on every machine.
using Histograms = std::vector<std::array<std::uint64_t, 256>>;
// For byte / 255. A constant channel cannot be scaled: its deviation is 1.
Normalization normalization_of(const Histograms& counts);
// For the values that this set reads, without NaN; one mean and deviation for each channel.
Normalization measure(const DataSet& data);
// The square root of a variance about this mean, or 1 for constant values, whose variance is 0 but for
// rounding.
double deviation_of(double variance, double mean);

// Both sets; `normalized`: each channel with the training set's measure().
template <class Set>
DataSets sets_of(const std::shared_ptr<Set>& train, const std::shared_ptr<Set>& test, bool normalized) {
  DataSets sets{train, test};
  if (!normalized) return sets;
  sets.normalization = measure(*train);
  train->normalize(sets.normalization);
  test->normalize(sets.normalization);
  return sets;
}

// The input for each byte of a channel, and for a zero value of each channel, which fills the area beyond a
// picture.
std::array<float, 256> floats_of_bytes(const Normalization& by, std::size_t channel);
std::vector<float> zero_inputs(const Normalization& by, std::size_t channels);

}  // namespace steelyard
