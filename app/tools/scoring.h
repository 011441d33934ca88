// Scores of a saved model on the samples of a file or of its job.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/tools/input_samples.h"
#include "app/tools/saved_model.h"

namespace steelyard {

struct ScoringTask {
  SavedModel saved;
  std::optional<nn::Model> model{};  // empty: the job's model has its own engine, which gives no scores
  DataSets data{};                   // test samples
  InputSamples input{};              // of files, if they are given
};

// `inputs`: files (input_samples.h); none: the test set of the job, whose data are opened. With files they
// are opened only if the checkpoint does not record the shape of its samples. Prints notes about the files
// on standard error. Throws Failure.
ScoringTask open_scoring(const SavedOptions& saved, const std::vector<std::string>& inputs, bool normalized);

struct ScoredBatch {
  std::size_t part = 0;     // below most_parts(); each has a thread of its own
  std::uint64_t first = 0;  // sample
  const nn::MicroBatch* batch = nullptr;
  std::span<const float> scores{};  // [sample][label][class]
};
// Calls `work` with all samples, in parallel; within a part in order. The task must have a model.
void score(const ScoringTask& task, const std::function<void(const ScoredBatch&)>& work);

// The scale of a model's targets. Outputs of the model, and targets of the job's data, are
// (number - mean) / deviation.
class TargetScale {
 public:
  // Takes the scale from the source of a checkpoint. If it has none, raw() and scaled() change nothing.
  TargetScale(const SampleSource& source, std::uint32_t targets);
  // In the units of the labels. `values`: one for each target.
  [[nodiscard]] std::vector<double> raw(std::span<const float> values) const;
  [[nodiscard]] std::vector<float> scaled(std::span<const float> raw) const;

 private:
  std::vector<double> mean_, deviation_;
};

// "price"; if targets have no names: "value", or "value0" if there are several.
std::string target_name(const SampleSource& source, std::uint32_t number, std::uint32_t targets);

// "dog", or "1" if classes have no names.
std::string class_name(const SampleSource& source, std::uint32_t number);

}  // namespace steelyard
