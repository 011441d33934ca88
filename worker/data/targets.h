// Labels of a file that are numbers: the targets of a model with the loss mse, mae or bce.
#pragma once

#include <steelyard/data_set.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace steelyard {

enum class LabelKind : std::uint8_t {
  classes,
  numbers,  // any finite numbers
  binary,   // 0 or 1
};

struct LabelOptions {
  LabelKind kind = LabelKind::classes;
  bool scaled = true;  // only for numbers: each target to mean 0 and deviation 1
};

// The options of a job file with these meanings, and their values. A job sets the first one by the loss of
// its model if its file does not (app/config/prepare_job.h).
inline constexpr const char* targets_key = "targets";
std::vector<Option> label_options();
LabelOptions label_options_in(const Options& options);
std::string word_of(LabelKind kind);

// What is wrong with a label: "is neither 0 nor 1"; empty: nothing.
std::string target_trouble(LabelKind kind, double value);

// Targets: rows of `each` numbers, one row for each sample.
class Targets {
 public:
  Targets() = default;
  Targets(std::vector<float> values, std::uint32_t each) : values_(std::move(values)), each_(each) {}

  [[nodiscard]] std::uint32_t each() const { return each_; }
  void read(std::uint64_t index, float* into) const;

  // Mean and deviation of each target over the first measured_samples samples, computed in their order; a
  // constant target has deviation 1.
  [[nodiscard]] Normalization measured() const;
  void scale(const Normalization& by);

 private:
  std::vector<float> values_;
  std::uint32_t each_ = 0;
};

// Scales both sets by the training set's measured() if the options ask for it. Returns
// DataSets::target_scale.
Normalization scale_targets(Targets& train, Targets& test, const LabelOptions& options);

}  // namespace steelyard
