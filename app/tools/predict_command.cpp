#include "app/tools/predict_command.h"

#include <algorithm>
#include <cmath>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/tools/scoring.h"
#include "core/text.h"

namespace steelyard {
namespace {

struct Answer {
  std::uint32_t best = 0;
  double probability = 0;
};

Answer answer_of(std::span<const float> scores) {
  const auto best = std::ranges::max_element(scores);
  double sum = 0;
  for (const float score : scores) sum += std::exp(static_cast<double>(score) - static_cast<double>(*best));
  return {static_cast<std::uint32_t>(best - scores.begin()), 1 / sum};
}

// A field of a CSV file.
std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

// One row for each sample, with a column for each target.
std::string predicted_targets(const ScoringTask& task, bool of_job) {
  const SampleSource& source = task.saved.snapshot.source;
  const std::uint32_t each = task.model->classes();
  const bool answers = counts_answers(task.model->loss());
  const bool labelled = of_job || !task.input.targets.empty();
  const TargetScale scale(source, each);
  const auto shown = [](double value) { return std::isnan(value) ? "" : printed("%.7g", value); };
  std::vector<std::string> parts(most_parts());
  score(task, [&](const ScoredBatch& it) {
    for (std::uint32_t i = 0; i < it.batch->count; ++i) {
      const std::uint64_t sample = it.first + i;
      std::string& text = parts[it.part];
      text += std::to_string(task.input.numbers.empty() ? sample : task.input.numbers[sample]);
      for (const double value : scale.raw(it.scores.subspan(std::uint64_t{i} * each, each)))
        text += ',' + (answers ? fixed(1 / (1 + std::exp(-value)), 6) : shown(value));
      for (std::uint32_t t = 0; labelled && t < each; ++t) {
        const std::span<const float> row = of_job
                                               ? std::span(it.batch->targets + std::uint64_t{i} * each, each)
                                               : std::span(task.input.targets).subspan(sample * each, each);
        text += ',' + shown(of_job ? scale.raw(row)[t] : double{row[t]});
      }
      text += '\n';
    }
  });
  std::string text = "sample";
  for (std::uint32_t t = 0; t < each; ++t) text += ',' + field(target_name(source, t, each));
  for (std::uint32_t t = 0; labelled && t < each; ++t)
    text += ',' + field(target_name(source, t, each) + "_label");
  text += '\n';
  for (const std::string& part : parts) text += part;
  return text;
}

}  // namespace

void run_predict(const PredictCommand& command) {
  check_output("--out", command.output);
  const ScoringTask task = open_scoring(command.saved, command.inputs, command.normalized);
  if (!task.model) {
    refuse_setup(
        "model '" + task.saved.job.model +
        "' has its own engine, which gives no scores: predict works only with models that are made of "
        "layers");
  }
  if (takes_targets(task.model->loss()))
    return write_output("--out", command.output, predicted_targets(task, command.inputs.empty()));
  const SampleSource& source = task.saved.snapshot.source;
  const InputSamples& input = task.input;
  const bool of_job = command.inputs.empty(), labelled = of_job || !input.labels.empty();
  const std::uint64_t answers = task.model->labels();  // per sample; the last one is printed: the next token
  const std::uint64_t classes = task.model->classes();
  const DataSet& data = *task.data.test;
  const auto sample_text = [&](std::uint64_t sample) {
    const std::string file = data.name(sample);
    return file.empty() ? std::to_string(input.numbers.empty() ? sample : input.numbers[sample])
                        : field(file);
  };
  std::vector<std::string> parts(most_parts());
  score(task, [&](const ScoredBatch& it) {
    for (std::uint32_t i = 0; i < it.batch->count; ++i) {
      const std::uint64_t sample = it.first + i, last = answers * (i + 1) - 1;
      const Answer answer = answer_of(it.scores.subspan(last * classes, classes));
      std::string& text = parts[it.part];
      text += sample_text(sample) + ',' + field(class_name(source, answer.best)) + ',' +
              fixed(answer.probability, 6);
      if (labelled)
        text += ',' + field(of_job ? class_name(source, it.batch->labels[last]) : input.labels[sample]);
      text += '\n';
    }
  });
  std::string text = data.name(0).empty() ? "sample" : "file";
  text += labelled ? ",class,probability,label\n" : ",class,probability\n";
  for (const std::string& part : parts) text += part;
  write_output("--out", command.output, text);
}

}  // namespace steelyard
