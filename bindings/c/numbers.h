// SampleNumbers: a data set whose samples are their own numbers, for callers who have the samples themselves.
#pragma once

#include <steelyard/data_set.h>

#include <cstdint>

namespace steelyard::c_api {

class SampleNumbers final : public DataSet {
 public:
  explicit SampleNumbers(std::uint32_t samples) : samples_(samples) {}

  [[nodiscard]] std::uint64_t size() const override { return samples_; }
  [[nodiscard]] nn::Shape shape() const override { return {1, 1, 1}; }
  [[nodiscard]] std::uint32_t classes() const override { return samples_; }
  // The label is the number; the input says nothing.
  void read(std::uint64_t index, float* into, std::uint32_t* labels) const override {
    *into = 0;
    *labels = static_cast<std::uint32_t>(index);
  }

 private:
  const std::uint32_t samples_;
};

}  // namespace steelyard::c_api
