#include "app/tools/eval_command.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/text_table.h"
#include "app/tools/class_metrics.h"
#include "app/tools/scoring.h"
#include "app/tools/target_eval.h"
#include "core/error.h"
#include "core/json.h"
#include "nn/loss.h"
#include "worker/data/samples.h"

namespace steelyard {
namespace {

constexpr std::uint64_t most_scores = std::uint64_t{1} << 26;  // kept for AUC: 256 MB
constexpr std::size_t most_class_rows = 20;                    // classes in the table

struct Result {
  nn::Sums sums{};
  std::optional<ClassMetrics> metrics{};
  std::optional<TargetResult> targets{};  // instead of an accuracy
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
    return {result.sums, {}, std::move(result)};
  }
  std::vector<std::uint32_t> labels;
  if (!input.empty())
    labels = classes_of(input, task.input, task.saved.snapshot.source, task.model->classes());
  return scored(task, labels);
}

// What was evaluated, and the result.
struct EvaluatedModel {
  std::string data;  // name of the data set, or the file
  std::uint64_t samples = 0, answers = 0;
  Result result{};

  [[nodiscard]] double test_loss() const { return result.sums.loss / static_cast<double>(samples); }
  [[nodiscard]] bool has_accuracy() const {
    return !result.targets && result.sums.correct != nn::Sums::uncounted;
  }
  [[nodiscard]] double accuracy() const {
    return static_cast<double>(result.sums.correct) / static_cast<double>(answers);
  }
};

std::string classes_text(const ClassMetrics& metrics, const SampleSource& source) {
  std::vector<std::vector<std::string>> rows{{"class", "samples", "precision", "recall", "F1"}};
  std::uint32_t number = 0;
  for (const ClassMetrics::Counts& it : metrics.counts())
    rows.push_back({shown_line(class_name(source, number++), 40), std::to_string(it.samples),
                    fixed(it.precision(), 4), fixed(it.recall(), 4), fixed(it.f1(), 4)});
  std::string text = "\n";
  for (const std::string& line : aligned_lines(rows, Alignment::numbers)) text += "  " + line + "\n";
  return text;
}

std::string metrics_rows(const ClassMetrics& metrics, const SampleSource& source) {
  const std::vector<ClassMetrics::Counts>& counts = metrics.counts();
  std::string text = printed("  macro F1            %.4f\n", metrics.macro_f1());
  if (counts.size() > ClassMetrics::most_top)
    text += printed("  top-%u accuracy      %.2f %%\n", ClassMetrics::most_top, 100 * metrics.top_accuracy());
  if (const auto auc = metrics.auc())
    text += printed("  AUC                 %.4f%s\n", *auc,
                    counts.size() > 2 ? "   (each class against the others, mean)" : "");
  return counts.size() > most_class_rows ? text : text + classes_text(metrics, source);
}

std::string evaluation_text(const SavedModel& saved, const EvaluatedModel& it) {
  const auto number = [](std::uint64_t value) { return std::to_string(value); };
  std::string text = "checkpoint " + shown_line(saved.path) + ": " + place_of(saved.snapshot.progress) +
                     "\n" + "  model               " + shown_line(saved.job.model) + ", " +
                     number(saved.snapshot.layout.size()) + " parameters\n" + "  data                " +
                     shown_line(it.data) + ", " + number(it.samples) + " test samples\n" +
                     printed("  test loss           %.6g\n", it.test_loss());
  if (it.result.targets) return text + it.result.targets->text;
  if (!it.has_accuracy()) return text;
  text += printed("  test accuracy       %.2f %%   (", 100 * it.accuracy()) + number(it.result.sums.correct) +
          " of " + number(it.answers) + ")\n";
  if (it.result.metrics) text += metrics_rows(*it.result.metrics, saved.snapshot.source);
  return text;
}

Json evaluation_json(const SavedModel& saved, const EvaluatedModel& it) {
  Json json = {{"format", 1},
               {"checkpoint", saved.path},
               {"model", saved.job.model},
               {"data", it.data},
               {"round", saved.snapshot.progress.version},
               {"epoch", saved.snapshot.progress.epoch},
               {"parameters", saved.snapshot.layout.size()},
               {"samples", it.samples},
               {"test_loss", it.test_loss()}};
  if (it.result.targets) {
    json.update(it.result.targets->json);
    return json;
  }
  json["accuracy"] = it.has_accuracy() ? Json(it.accuracy()) : Json();
  json["correct"] = it.has_accuracy() ? Json(it.result.sums.correct) : Json();
  json["answers"] = it.answers;
  const auto& metrics = it.result.metrics;
  const bool top = metrics && metrics->counts().size() > ClassMetrics::most_top;
  const auto auc = metrics ? metrics->auc() : std::nullopt;
  json["macro_f1"] = metrics ? Json(metrics->macro_f1()) : Json();
  json["top_" + std::to_string(ClassMetrics::most_top) + "_accuracy"] =
      top ? Json(metrics->top_accuracy()) : Json();
  json["auc"] = auc ? Json(*auc) : Json();
  json["classes"] = Json::array();
  if (!metrics) return json;
  std::uint32_t number = 0;
  for (const ClassMetrics::Counts& counts : metrics->counts())
    json["classes"].push_back({{"class", class_name(saved.snapshot.source, number++)},
                               {"samples", counts.samples},
                               {"predicted", counts.predicted},
                               {"precision", counts.precision()},
                               {"recall", counts.recall()},
                               {"f1", counts.f1()}});
  return json;
}

}  // namespace

void run_eval(const EvalCommand& command) {
  check_output("--json", command.json);
  const ScoringTask task = open_scoring(command.saved, command.inputs, command.normalized);
  const SavedModel& saved = task.saved;
  const bool of_job = command.inputs.empty();
  const std::string input = of_job ? std::string() : command.inputs.front();
  const std::uint64_t samples = task.data.test->size();
  const EvaluatedModel it{of_job ? saved.job.data : input, samples, samples * task.data.test->labels(),
                          result_of(task, input)};
  if (!command.json.empty())
    write_output("--json", command.json, dump_json(evaluation_json(saved, it), 2) + "\n");
  if (command.json != "-") std::fputs(evaluation_text(saved, it).c_str(), stdout);
}

}  // namespace steelyard
