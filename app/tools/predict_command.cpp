#include "app/tools/predict_command.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/tools/scoring.h"
#include "core/json.h"
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

// The samples of one thread as lines of CSV, and as objects of JSON if they are wanted.
struct PartText {
  std::string lines, objects;
};

struct Prediction {
  std::uint64_t sample = 0;
  std::string file;  // of a picture, in place of the number
  std::string name;  // of the class
  double probability = 0;
  std::optional<std::string> label;
};

void add_to(PartText& text, const Prediction& it, bool with_json) {
  text.lines += (it.file.empty() ? std::to_string(it.sample) : field(it.file)) + ',' + field(it.name) + ',' +
                fixed(it.probability, 6) + (it.label ? ',' + field(*it.label) : "") + '\n';
  if (!with_json) return;
  Json object = {{"sample", it.sample}, {"class", it.name}, {"probability", it.probability}};
  if (!it.file.empty()) object["file"] = it.file;
  if (it.label) object["label"] = *it.label;
  text.objects += (text.objects.empty() ? "" : ",\n") + ("    " + dump_json(object));
}

// Values, and labels if there are any, for each target of a sample.
void add_to(PartText& text, std::uint64_t sample, const std::vector<std::string>& names,
            std::span<const double> values, std::span<const double> labels, bool probabilities,
            bool with_json) {
  const auto shown = [](double value) { return std::isnan(value) ? "" : printed("%.7g", value); };
  text.lines += std::to_string(sample);
  for (const double value : values) text.lines += ',' + (probabilities ? fixed(value, 6) : shown(value));
  for (const double label : labels) text.lines += ',' + shown(label);
  text.lines += '\n';
  if (!with_json) return;
  Json object = {{"sample", sample}};
  for (std::size_t t = 0; t < values.size(); ++t) object["values"][names[t]] = values[t];
  for (std::size_t t = 0; t < labels.size(); ++t)
    object["labels"][names[t]] = std::isnan(labels[t]) ? Json() : Json(labels[t]);
  text.objects += (text.objects.empty() ? "" : ",\n") + ("    " + dump_json(object));
}

std::string json_text(const std::string& checkpoint, const std::vector<PartText>& parts) {
  std::string objects;
  for (const PartText& part : parts) {
    if (!part.objects.empty()) objects += (objects.empty() ? "" : ",\n") + part.objects;
  }
  return "{\n  \"format\": 1,\n  \"checkpoint\": " + dump_json(checkpoint) + ",\n  \"samples\": [\n" +
         objects + "\n  ]\n}\n";
}

// The scores of all samples, as an array of NumPy.
class ScoresArray {
 public:
  explicit ScoresArray(const ScoringTask& task)
      : samples_(task.data.test->size()),
        labels_(task.model->labels()),
        classes_(task.model->classes()),
        numbers_(takes_targets(task.model->loss()) && !counts_answers(task.model->loss())),
        scale_(task.saved.snapshot.source, static_cast<std::uint32_t>(classes_)) {
    constexpr std::uint64_t most = std::uint64_t{1} << 30;  // numbers
    const std::uint64_t size = samples_ * labels_ * classes_;
    if (size > most)
      refuse_usage("--scores: " + std::to_string(samples_) + " samples have " + std::to_string(size) +
                   " scores, and a file may have " + std::to_string(most) +
                   ": give fewer samples by --input");
    all_.resize(size);
  }
  // Each sample once, from any thread.
  void add(const ScoredBatch& it) {
    const std::uint64_t each = labels_ * classes_;
    const auto place = all_.begin() + static_cast<std::ptrdiff_t>(it.first * each);
    if (!numbers_) return void(std::ranges::copy(it.scores.first(it.batch->count * each), place));
    for (std::uint64_t i = 0; i < it.batch->count; ++i) {
      const std::vector<double> row = scale_.raw(it.scores.subspan(i * each, each));
      std::ranges::transform(row, place + static_cast<std::ptrdiff_t>(i * each),
                             [](double value) { return static_cast<float>(value); });
    }
  }
  // Version 1 of the format.
  [[nodiscard]] std::string file() const {
    std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(samples_) +
                       ", " + (labels_ > 1 ? std::to_string(labels_) + ", " : "") + std::to_string(classes_) +
                       "), }";
    constexpr std::size_t before = 10, unit = 64;  // bytes before the header; the data begin at a multiple
    head.resize((head.size() + 1 + before + unit - 1) / unit * unit - before - 1, ' ');
    head += '\n';
    std::string text("\x93NUMPY\x01\x00", 8);
    text += static_cast<char>(head.size() & 0xFF);
    text += static_cast<char>(head.size() >> 8);
    text += head;
    text.append(reinterpret_cast<const char*>(all_.data()), all_.size() * sizeof(float));
    return text;
  }

 private:
  const std::uint64_t samples_, labels_, classes_;
  const bool numbers_;
  const TargetScale scale_;
  std::vector<float> all_;
};

// The lines of all samples, and the first line.
struct Predictions {
  std::string header;
  std::vector<PartText> parts = std::vector<PartText>(most_parts());
};

// A model of targets: a column for each of them.
Predictions predicted_targets(const ScoringTask& task, bool of_job, bool with_json, ScoresArray* scores) {
  const SampleSource& source = task.saved.snapshot.source;
  const std::uint32_t each = task.model->classes();
  const bool answers = counts_answers(task.model->loss());
  const bool labelled = of_job || !task.input.targets.empty();
  const TargetScale scale(source, each);
  std::vector<std::string> names;
  for (std::uint32_t t = 0; t < each; ++t) names.push_back(target_name(source, t, each));
  Predictions result;
  score(task, [&](const ScoredBatch& it) {
    if (scores != nullptr) scores->add(it);
    for (std::uint32_t i = 0; i < it.batch->count; ++i) {
      const std::uint64_t sample = it.first + i;
      std::vector<double> values = scale.raw(it.scores.subspan(std::uint64_t{i} * each, each)), labels;
      for (double& value : values) value = answers ? 1 / (1 + std::exp(-value)) : value;
      if (labelled && of_job) {
        labels = scale.raw(std::span(it.batch->targets + std::uint64_t{i} * each, each));
      } else if (labelled) {
        const auto given = std::span(task.input.targets).subspan(sample * each, each);
        labels.assign(given.begin(), given.end());
      }
      add_to(result.parts[it.part], task.input.numbers.empty() ? sample : task.input.numbers[sample], names,
             values, labels, answers, with_json);
    }
  });
  result.header = "sample";
  for (const std::string& name : names) result.header += ',' + field(name);
  for (std::size_t t = 0; labelled && t < names.size(); ++t)
    result.header += ',' + field(names[t] + "_label");
  return result;
}

Predictions predicted_classes(const ScoringTask& task, bool of_job, bool with_json, ScoresArray* scores) {
  const SampleSource& source = task.saved.snapshot.source;
  const InputSamples& input = task.input;
  const bool labelled = of_job || !input.labels.empty();
  const std::uint64_t answers = task.model->labels();  // per sample; the last one is printed: the next token
  const std::uint64_t classes = task.model->classes();
  const DataSet& data = *task.data.test;
  Predictions result{data.name(0).empty() ? "sample" : "file"};
  result.header += labelled ? ",class,probability,label" : ",class,probability";
  score(task, [&](const ScoredBatch& it) {
    if (scores != nullptr) scores->add(it);
    for (std::uint32_t i = 0; i < it.batch->count; ++i) {
      const std::uint64_t sample = it.first + i, last = answers * (i + 1) - 1;
      const Answer answer = answer_of(it.scores.subspan(last * classes, classes));
      Prediction prediction{input.numbers.empty() ? sample : input.numbers[sample], data.name(sample),
                            class_name(source, answer.best), answer.probability, std::nullopt};
      if (labelled)
        prediction.label = of_job ? class_name(source, it.batch->labels[last]) : input.labels[sample];
      add_to(result.parts[it.part], prediction, with_json);
    }
  });
  return result;
}

}  // namespace

void run_predict(const PredictCommand& command) {
  check_output("--out", command.output);
  check_output("--json", command.json);
  check_output("--scores", command.scores);
  const ScoringTask task = open_scoring(command.saved, command.inputs, command.normalized);
  if (!task.model) {
    refuse_setup(
        "model '" + task.saved.job.model +
        "' has its own engine, which gives no scores: predict works only with models that are made of "
        "layers");
  }
  const bool of_job = command.inputs.empty(), with_json = !command.json.empty();
  std::optional<ScoresArray> scores;
  if (!command.scores.empty()) scores.emplace(task);
  const auto predicted = takes_targets(task.model->loss()) ? predicted_targets : predicted_classes;
  const Predictions result = predicted(task, of_job, with_json, scores ? &*scores : nullptr);
  if (scores) write_output("--scores", command.scores, scores->file());
  if (with_json) write_output("--json", command.json, json_text(task.saved.path, result.parts));
  if (command.json == "-" && command.output == "-") return;
  std::string text = result.header + '\n';
  for (const PartText& part : result.parts) text += part.lines;
  write_output("--out", command.output, text);
}

}  // namespace steelyard
