#include "app/tools/target_eval.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "app/report/terminal_text.h"
#include "app/tools/class_metrics.h"
#include "app/tools/number_metrics.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::uint64_t most_kept = std::uint64_t{1} << 25;  // outputs kept for AUC: 256 MB
constexpr std::size_t most_target_rows = 20;                 // targets in the table

// Metrics of one part of the samples.
struct TargetPart {
  nn::Sums sums{};
  NumberMetrics numbers;
  std::vector<ClassMetrics> answers;  // of each target
};

void require_targets(const InputSamples& input, const std::string& path, std::uint32_t each) {
  if (input.targets.empty())
    throw Failure(ExitCode::io, path +
                                    ": it has no labels: give a CSV file with the labels' columns, or use "
                                    "predict");
  const auto missing = std::ranges::find_if(input.targets, [](float it) { return std::isnan(it); });
  if (missing == input.targets.end()) return;
  const auto sample = static_cast<std::size_t>(missing - input.targets.begin()) / each;
  throw Failure(ExitCode::io, path + ": sample " + std::to_string(input.numbers[sample]) +
                                  " has no label: fill it in, or use predict");
}

std::vector<TargetPart> parts_of(const ScoringTask& task) {
  const nn::Model& model = *task.model;
  const std::uint32_t each = model.classes();
  const bool answers = counts_answers(model.loss()), keep = task.data.test->size() * each <= most_kept;
  const nn::LossOptions loss{model.loss(), each};
  const TargetScale scale(task.saved.snapshot.source, each);
  std::vector<TargetPart> parts(
      most_parts(),
      {{}, NumberMetrics(each), std::vector<ClassMetrics>(answers ? each : 0, ClassMetrics(2, keep))});
  score(task, [&](const ScoredBatch& it) {
    nn::MicroBatch batch = *it.batch;
    std::vector<float> targets;  // of a file
    if (!task.input.targets.empty()) {
      const std::span<const float> raw = std::span(task.input.targets).subspan(it.first * each);
      for (std::uint64_t s = 0; s < batch.count; ++s) {
        const std::vector<float> row = scale.scaled(raw.subspan(s * each, each));
        targets.insert(targets.end(), row.begin(), row.end());
      }
      batch.targets = targets.data();
    }
    TargetPart& part = parts[it.part];
    part.sums += nn::evaluate_loss(loss, batch, it.scores.data(), {each, 1, each}, nullptr, batch.count);
    for (std::uint64_t s = 0; s < batch.count; ++s) {
      const std::span<const float> outputs = it.scores.subspan(s * each, each);
      const std::span<const float> wanted(batch.targets + s * each, each);
      if (!answers) part.numbers.add(scale.raw(outputs), scale.raw(wanted));
      for (std::uint32_t t = 0; answers && t < each; ++t)
        part.answers[t].add(std::array{0.0F, outputs[t]}, wanted[t] > 0.5F ? 1 : 0);
    }
  });
  return parts;
}

std::string known(const std::optional<double>& value) { return value ? fixed(*value, 4) : "-"; }

// A table with a row for each target.
std::string target_table(const SampleSource& source, std::vector<std::vector<std::string>> rows,
                         const std::vector<std::string>& titles) {
  if (rows.size() > most_target_rows) return {};
  const auto targets = static_cast<std::uint32_t>(rows.size());
  for (std::uint32_t i = 0; i < targets; ++i)
    rows[i].insert(rows[i].begin(), shown_line(target_name(source, i, targets), 40));
  rows.insert(rows.begin(), titles);
  std::vector<std::size_t> widths(titles.size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) widths[c] = std::max(widths[c], columns_of(row[c]));
  }
  std::string text = "\n";
  for (const auto& row : rows) {
    std::string line = "  ";
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string gap(widths[c] - columns_of(row[c]), ' ');
      line += c == 0 ? row[c] + gap : "  " + gap + row[c];
    }
    text += line + "\n";
  }
  return text;
}

std::string number_text_of(const NumberMetrics& metrics, const SampleSource& source) {
  const auto& all = metrics.targets();
  if (all.size() == 1)
    return printed("  RMSE                %.6g\n  MAE                 %.6g\n  R2                  %s\n",
                   all[0].rmse(), all[0].mae(), known(all[0].r2()).c_str());
  std::vector<std::vector<std::string>> rows;
  for (const auto& it : all)
    rows.push_back({printed("%.6g", it.rmse()), printed("%.6g", it.mae()), known(it.r2())});
  return printed("  R2                  %s   (mean of the targets)\n", known(metrics.mean_r2()).c_str()) +
         target_table(source, std::move(rows), {"target", "RMSE", "MAE", "R2"});
}

std::string answer_text_of(const std::vector<ClassMetrics>& metrics, const nn::Sums& sums,
                           std::uint64_t samples, const SampleSource& source) {
  double f1 = 0, areas = 0;
  std::size_t with_area = 0;
  std::vector<std::vector<std::string>> rows;
  for (const ClassMetrics& it : metrics) {
    const ClassMetrics::Counts& yes = it.counts()[1];
    const std::optional<double> area = it.auc();
    f1 += yes.f1() / static_cast<double>(metrics.size());
    areas += area.value_or(0);
    with_area += area ? 1 : 0;
    rows.push_back({std::to_string(yes.samples), fixed(yes.precision(), 4), fixed(yes.recall(), 4),
                    fixed(yes.f1(), 4), known(area)});
  }
  const auto number = [](std::uint64_t value) { return static_cast<unsigned long long>(value); };
  std::string text = printed("  exact match         %.2f %%   (%llu of %llu: all targets right)\n",
                             100 * static_cast<double>(sums.correct) / static_cast<double>(samples),
                             number(sums.correct), number(samples));
  text += printed("  macro F1            %.4f\n", f1);
  if (with_area > 0)
    text += printed("  AUC                 %.4f   (mean)\n", areas / static_cast<double>(with_area));
  return text + target_table(source, std::move(rows), {"target", "ones", "precision", "recall", "F1", "AUC"});
}

}  // namespace

TargetResult evaluate_targets(const ScoringTask& task, const std::string& path) {
  if (!path.empty()) require_targets(task.input, path, task.model->classes());
  std::vector<TargetPart> parts = parts_of(task);
  TargetPart& whole = parts.front();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    whole.sums += parts[i].sums;
    whole.numbers += parts[i].numbers;
    for (std::size_t t = 0; t < whole.answers.size(); ++t) whole.answers[t] += parts[i].answers[t];
  }
  const SampleSource& source = task.saved.snapshot.source;
  return {whole.sums, whole.answers.empty()
                          ? number_text_of(whole.numbers, source)
                          : answer_text_of(whole.answers, whole.sums, task.data.test->size(), source)};
}

}  // namespace steelyard
