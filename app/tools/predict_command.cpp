#include "app/tools/predict_command.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/tools/scoring.h"
#include "core/json.h"

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
  std::string name;  // of the class
  double probability = 0;
  std::optional<std::string> label;
};

void add_to(PartText& text, const Prediction& it, bool with_json) {
  text.lines += std::to_string(it.sample) + ',' + field(it.name) + ',' + fixed(it.probability, 6) +
                (it.label ? ',' + field(*it.label) : "") + '\n';
  if (!with_json) return;
  Json object = {{"sample", it.sample}, {"class", it.name}, {"probability", it.probability}};
  if (it.label) object["label"] = *it.label;
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

}  // namespace

void run_predict(const PredictCommand& command) {
  check_output("--out", command.output);
  check_output("--json", command.json);
  const ScoringTask task = open_scoring(command.saved, command.input, command.normalized);
  if (!task.model) {
    refuse_setup(
        "model '" + task.saved.job.model +
        "' has its own engine, which gives no scores: predict works only with models that are made of "
        "layers");
  }
  const SampleSource& source = task.saved.snapshot.source;
  const InputSamples& input = task.input;
  const bool of_job = command.input.empty(), labelled = of_job || !input.labels.empty();
  const std::uint64_t answers = task.model->labels();  // per sample; the last one is printed: the next token
  const std::uint64_t classes = task.model->classes();
  std::vector<PartText> parts(most_parts());
  score(task, [&](const ScoredBatch& it) {
    for (std::uint32_t i = 0; i < it.batch->count; ++i) {
      const std::uint64_t sample = it.first + i, last = answers * (i + 1) - 1;
      const Answer answer = answer_of(it.scores.subspan(last * classes, classes));
      Prediction prediction{input.numbers.empty() ? sample : input.numbers[sample],
                            class_name(source, answer.best), answer.probability, std::nullopt};
      if (labelled)
        prediction.label = of_job ? class_name(source, it.batch->labels[last]) : input.labels[sample];
      add_to(parts[it.part], prediction, !command.json.empty());
    }
  });
  if (!command.json.empty()) write_output("--json", command.json, json_text(task.saved.path, parts));
  if (command.json == "-" && command.output == "-") return;
  std::string text = labelled ? "sample,class,probability,label\n" : "sample,class,probability\n";
  for (const PartText& part : parts) text += part.lines;
  write_output("--out", command.output, text);
}

}  // namespace steelyard
