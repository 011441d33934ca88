// Metrics of a model that predicts numbers: root mean squared error, mean absolute error and R^2 of each
// target.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace steelyard {

class NumberMetrics {
 public:
  explicit NumberMetrics(std::uint32_t targets) : each_(targets) {}

  // One sample, in the units of the labels.
  void add(std::span<const double> predicted, std::span<const double> actual);
  NumberMetrics& operator+=(const NumberMetrics& other);

  class OfTarget {
   public:
    void add(double predicted, double actual);
    OfTarget& operator+=(const OfTarget& other);

    [[nodiscard]] double rmse() const;
    [[nodiscard]] double mae() const;
    // 1 - sum (actual - predicted)^2 / sum (actual - mean)^2: 1 is perfect, and 0 is as good as the mean of
    // these samples. std::nullopt if all actual values are equal.
    [[nodiscard]] std::optional<double> r2() const;

   private:
    std::uint64_t samples_ = 0;
    double squares_ = 0, distances_ = 0;  // of errors, summed
    double mean_ = 0, spread_ = 0;        // of actual values; spread: sum (actual - mean)^2
  };
  [[nodiscard]] const std::vector<OfTarget>& targets() const { return each_; }
  // The mean over the targets that have an r2().
  [[nodiscard]] std::optional<double> mean_r2() const;

 private:
  std::vector<OfTarget> each_;
};

}  // namespace steelyard
