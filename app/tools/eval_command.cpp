#include "app/tools/eval_command.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/report/terminal_text.h"
#include "app/tools/class_metrics.h"
#include "app/tools/scoring.h"
#include "app/tools/target_eval.h"
#include "core/error.h"
#include "nn/loss.h"
#include "worker/data/samples.h"

namespace steelyard {
namespace {

constexpr std::uint64_t most_scores = std::uint64_t{1} << 26;  // kept for AUC: 256 MB
constexpr std::size_t most_class_rows = 20;                    // classes in the table

struct Result {
  nn::Sums sums{};
  std::optional<ClassMetrics> metrics{};
  std::string text{};  // of the metrics of targets, instead of accuracy
};

std::string sample_text(const InputSamples& input, std::size_t index) {
  const std::string file = input.data->name(index);
  return file.empty() ? std::to_string(input.numbers.at(index)) : "'" + file + "'";
}

// The classes of the labels in a file. Throws Failure (io) for a file without labels, and for other labels
// than those of the training.
std::vector<std::uint32_t> classes_of(const std::string& path, const InputSamples& input,
                                      const SampleSource& source, std::uint32_t classes) {
  if (input.labels.empty())
    throw Failure(ExitCode::io, path +
                                    ": it has no labels: give a CSV file with the label's column, or a "
                                    "folder with a subfolder of pictures for each class, or use predict");
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < classes; ++i) names.push_back(class_name(source, i));
  const ClassNames known(names);
  std::vector<std::uint32_t> labels;
  for (std::size_t i = 0; i < input.labels.size(); ++i) {
    const auto found = known.find(input.labels[i]);
    if (!found)
      throw Failure(ExitCode::io, path + ": sample " + sample_text(input, i) + ": label '" +
                                      input.labels[i].substr(0, 40) +
                                      "' is not among those of the training set: correct it");
    labels.push_back(*found);
  }
  return labels;
}

// For models with their own engine.
Result evaluated(const SavedModel& saved) {
  std::vector<nn::Sums> parts(most_parts());
  in_parts(saved.workload.data.test->size(), [&](std::size_t part, Interval positions) {
    const auto engine = saved.workload.make_engine();
    TestSamples stream(saved.workload.data, positions, engine->micro_batch_sizes());
    parts[part] = engine->evaluate(saved.snapshot.parameters, stream);
  });
  Result result;
  for (const nn::Sums& it : parts) result.sums += it;
  return result;
}

// `labels`: of all samples; empty: the data set's.
Result scored(const ScoringTask& task, const std::vector<std::uint32_t>& labels) {
  const nn::Model& model = *task.model;
  const std::uint32_t classes = model.classes(), each = model.labels();
  const bool keep = task.data.test->size() * each <= most_scores / classes;
  const nn::LossOptions loss{model.loss(), classes, each, model.smoothing()};
  const nn::Strides strides{std::uint64_t{each} * classes, 1, classes};
  std::vector<Result> parts(most_parts(), Result{{}, ClassMetrics(classes, keep)});
  score(task, [&](const ScoredBatch& it) {
    nn::MicroBatch batch = *it.batch;
    if (!labels.empty()) batch.labels = labels.data() + it.first;
    Result& part = parts[it.part];
    part.sums += nn::evaluate_loss(loss, batch, it.scores.data(), strides, nullptr, batch.count);
    for (std::uint64_t i = 0; i < std::uint64_t{batch.count} * each; ++i)
      part.metrics->add(it.scores.subspan(i * classes, classes), batch.labels[i]);
  });
  Result whole{{}, ClassMetrics(classes, keep)};
  for (const Result& part : parts) {
    whole.sums += part.sums;
    *whole.metrics += *part.metrics;
  }
  return whole;
}

Result result_of(const ScoringTask& task, const std::string& input) {
  if (!task.model) return evaluated(task.saved);
  if (takes_targets(task.model->loss())) {
    TargetResult result = evaluate_targets(task, input);
    return {result.sums, {}, std::move(result.text)};
  }
  std::vector<std::uint32_t> labels;
  if (!input.empty())
    labels = classes_of(input, task.input, task.saved.snapshot.source, task.model->classes());
  return scored(task, labels);
}

void print_metrics(const ClassMetrics& metrics, const SampleSource& source) {
  const std::vector<ClassMetrics::Counts>& counts = metrics.counts();
  std::printf("  macro F1            %.4f\n", metrics.macro_f1());
  if (counts.size() > ClassMetrics::most_top)
    std::printf("  top-%u accuracy      %.2f %%\n", ClassMetrics::most_top, 100 * metrics.top_accuracy());
  if (const auto auc = metrics.auc())
    std::printf("  AUC                 %.4f%s\n", *auc,
                counts.size() > 2 ? "   (each class against the others, mean)" : "");
  if (counts.size() > most_class_rows) return;
  std::size_t widest = 5;
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < counts.size(); ++i) {
    names.push_back(shown_line(class_name(source, i), 40));
    widest = std::max(widest, columns_of(names.back()));
  }
  const auto padded = [&](const std::string& name) {
    return name + std::string(widest - columns_of(name), ' ');
  };
  std::printf("\n  %s   samples  precision  recall      F1\n", padded("class").c_str());
  for (std::size_t i = 0; i < counts.size(); ++i)
    std::printf("  %s  %8llu     %.4f  %.4f  %.4f\n", padded(names[i]).c_str(),
                static_cast<unsigned long long>(counts[i].samples), counts[i].precision(), counts[i].recall(),
                counts[i].f1());
}

}  // namespace

void run_eval(const EvalCommand& command) {
  const ScoringTask task = open_scoring(command.saved, command.inputs, command.normalized);
  const SavedModel& saved = task.saved;
  const SampleSource& source = saved.snapshot.source;
  const bool of_job = command.inputs.empty();
  const Result result = result_of(task, of_job ? std::string() : command.inputs.front());
  const std::uint64_t samples = task.data.test->size(), answers = samples * task.data.test->labels();

  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::printf("checkpoint %s: %s\n", shown_line(saved.path).c_str(),
              place_of(saved.snapshot.progress).c_str());
  std::printf("  model               %s, %llu parameters\n", shown_line(saved.job.model).c_str(),
              number(saved.snapshot.layout.size()));
  std::printf("  data                %s, %llu test samples\n",
              shown_line(of_job ? saved.job.data : command.inputs.front()).c_str(), number(samples));
  std::printf("  test loss           %.6g\n", result.sums.loss / static_cast<double>(samples));
  std::fputs(result.text.c_str(), stdout);
  if (!result.text.empty() || result.sums.correct == nn::Sums::uncounted) return;
  std::printf("  test accuracy       %.2f %%   (%llu of %llu)\n",
              100 * static_cast<double>(result.sums.correct) / static_cast<double>(answers),
              number(result.sums.correct), number(answers));
  if (result.metrics) print_metrics(*result.metrics, source);
}

}  // namespace steelyard
