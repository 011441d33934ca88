#include "app/tools/scoring.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/report/terminal_text.h"
#include "core/error.h"
#include "nn/network.h"
#include "worker/compute/engines.h"

namespace steelyard {

ScoringTask open_scoring(const SavedOptions& options, const std::vector<std::string>& inputs,
                         bool normalized) {
  ScoringTask task{find_saved(options)};
  SavedModel& saved = task.saved;
  if (!inputs.empty()) task.model = model_alone(saved);
  if (!task.model) {
    open_workload(saved);
    task.model = saved.workload.model;
    task.data = saved.workload.data;
  }
  if (inputs.empty()) return task;
  if (!task.model) {
    refuse_setup(
        "model '" + saved.job.model +
        "' has its own engine, which gives no scores: files are read only for models that are made of "
        "layers");
  }
  task.input = open_input(inputs, normalized, saved.job, saved.snapshot.source, *task.model);
  task.data.test = task.input.data;
  task.data.name = inputs.front();
  for (const std::string& note : task.input.notes)
    std::fprintf(stderr, "steelyard: %s: %s\n", shown_line(inputs.front()).c_str(), shown_line(note).c_str());
  return task;
}

void score(const ScoringTask& task, const std::function<void(const ScoredBatch&)>& work) {
  const nn::Model& model = *task.model;
  const std::uint64_t each = std::uint64_t{model.labels()} * model.classes();
  in_parts(task.data.test->size(), [&](std::size_t part, Interval positions) {
    nn::Network network(model);
    std::vector<float> scores(each * nn::largest_micro_batch);
    TestSamples stream(task.data, positions, CpuEngine(model).micro_batch_sizes());
    std::uint64_t sample = positions.begin;
    while (const nn::MicroBatch* batch = stream.next()) {
      network.predict(task.saved.snapshot.parameters, *batch, scores);
      work({part, sample, batch, std::span(scores).first(each * batch->count)});
      sample += batch->count;
    }
  });
}

TargetScale::TargetScale(const SampleSource& source, std::uint32_t targets)
    : mean_(source.target_mean), deviation_(source.target_deviation) {
  mean_.resize(targets, 0);
  deviation_.resize(targets, 1);
}

std::vector<double> TargetScale::raw(std::span<const float> values) const {
  std::vector<double> all;
  for (std::size_t i = 0; i < values.size(); ++i) all.push_back(values[i] * deviation_[i] + mean_[i]);
  return all;
}

std::vector<float> TargetScale::scaled(std::span<const float> raw) const {
  std::vector<float> all;
  for (std::size_t i = 0; i < raw.size(); ++i)
    all.push_back(static_cast<float>((double{raw[i]} - mean_[i]) / deviation_[i]));
  return all;
}

std::string target_name(const SampleSource& source, std::uint32_t number, std::uint32_t targets) {
  if (number < source.class_names.size()) return source.class_names[number];
  return targets == 1 ? "value" : "value" + std::to_string(number);
}

std::string class_name(const SampleSource& source, std::uint32_t number) {
  return number < source.class_names.size() ? source.class_names[number] : std::to_string(number);
}

}  // namespace steelyard
