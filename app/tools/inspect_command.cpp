#include "app/tools/inspect_command.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>

#include "app/report/output_file.h"
#include "app/report/terminal_text.h"
#include "app/report/test_error.h"
#include "app/report/timeline.h"
#include "app/tools/saved_model.h"
#include "core/error.h"
#include "core/json.h"
#include "core/text.h"
#include "server/checkpoint/durable_file.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/safetensors.h"

namespace steelyard {

void run_trace(const TraceCommand& command) {
  check_output("--output", command.output);
  const Timeline timeline = timeline_of(command.paths);
  for (const std::string& note : timeline.notes)
    std::fprintf(stderr, "steelyard: %s\n", shown_line(note).c_str());
  write_output("--output", command.output, timeline.json);
  if (command.output != "-") std::printf("%s: open it in ui.perfetto.dev\n", command.output.c_str());
}

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_file = std::uint64_t{64} << 30;  // bytes
constexpr std::size_t values_at = 22, longest_name = 60;         // columns

std::string row(const std::string& title, const std::string& value) {
  std::string line = "  " + title;
  line.resize(std::max(line.size() + 1, values_at), ' ');
  return line + shown_line(value) + "\n";
}

struct Tensor {
  std::string name;
  std::vector<std::uint64_t> shape;
  std::vector<float> values;
};

// A line for each tensor: name, shape, and the number of values that are not finite.
std::string tensors_text(const std::vector<Tensor>& tensors) {
  std::size_t widest = 0;
  for (const Tensor& it : tensors) widest = std::max(widest, columns_of(shown_line(it.name, longest_name)));
  std::string text;
  for (const Tensor& it : tensors) {
    std::string line = "  " + shown_line(it.name, longest_name), shape;
    line.append(widest + 4 - columns_of(line), ' ');
    for (const std::uint64_t extent : it.shape)
      shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    line += shape.empty() ? "one number" : shape;
    const auto odd = std::ranges::count_if(it.values, [](float value) { return !std::isfinite(value); });
    if (odd > 0) line += "   (" + count_of(static_cast<std::uint64_t>(odd), "value") + " not finite)";
    text += line + "\n";
  }
  return text;
}

std::string size_text(const std::vector<Tensor>& tensors) {
  std::uint64_t floats = 0;
  for (const Tensor& it : tensors) floats += it.values.size();
  return std::to_string(floats) + " in " + count_of(tensors.size(), "tensor");
}

std::string file_text(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path, longest_file);
  const TensorFile file = parse_safetensors(bytes, path);
  std::vector<Tensor> tensors;
  for (const StoredTensor& it : file.tensors) {
    it.copy_to(tensors.emplace_back(it.name, it.shape, std::vector<float>(it.size())).values);
  }
  std::string text =
      shown_line(path) + ": a valid safetensors file\n" + row("parameters", size_text(tensors));
  for (const auto& [key, value] : file.texts) text += row(shown_line(key, longest_name), value);
  return text + tensors_text(tensors);
}

// The evaluation of this version in the rounds.jsonl of its run; std::nullopt if it was not evaluated.
std::optional<std::string> accuracy_text(const std::string& rounds, Version version) {
  std::ifstream file(rounds);
  std::optional<std::string> found;
  for (std::string line; std::getline(file, line);) {
    const auto json = parse_json(line);
    if (!json.is_object() || json.value("purpose", "") != "evaluate" ||
        json.value("round", Round{0}) != version)
      continue;
    if (!json["loss"].is_number()) continue;
    found = printed("loss %.6g", json["loss"].get<double>());
    if (const TestError error = error_in(json); error.known())
      found = *found + ", " + error.name + " " + error.text();
    if (json["accuracy"].is_number())
      found = printed("%.2f %%, ", 100 * json["accuracy"].get<double>()) + *found;
  }
  return found;
}

std::string job_text(const std::string& job) {
  std::ifstream file(job);
  std::string section, model, data, text;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) section = line;
    if (!line.starts_with("name = ")) continue;
    if (section == "[model]") model = line.substr(7);
    if (section == "[data]") data = line.substr(7);
  }
  if (model == "\"external\"") data = "of the workers";
  return "model " + model + ", data " + data + ", in " + job;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? text + ", ... (all are in " + manifest_file + ")" : text;
}

// Names of classes or targets, and of columns; the scale of targets.
std::string names_text(const SampleSource& source) {
  const std::vector<double>&mean = source.target_mean, &deviation = source.target_deviation;
  const bool targets = !mean.empty();
  std::string text;
  if (!source.class_names.empty())
    text += row(targets ? "targets" : "classes",
                count_of(source.class_names.size(), "name") + ": " + first_names(source.class_names));
  if (targets &&
      (mean != std::vector<double>(mean.size(), 0) || deviation != std::vector<double>(mean.size(), 1)))
    text += row("outputs", "times " + numbers_text(deviation) + " plus " + numbers_text(mean));
  const std::size_t labels = targets ? mean.size() : 1;
  if (source.column_names.size() <= labels) return text;
  const auto border = source.column_names.end() - static_cast<std::ptrdiff_t>(labels);
  const std::vector<std::string> inputs(source.column_names.begin(), border),
      rest(border, source.column_names.end());
  return text +
         row("columns", first_names(inputs) + (labels == 1 ? "; label " : "; labels ") + first_names(rest));
}

std::string checkpoint_text(const std::string& path) {
  const Snapshot it = read_checkpoint(path);
  std::vector<Tensor> tensors;
  for (const TensorPlace& place : it.layout.tensors) {
    const auto begin = it.parameters.begin() + static_cast<std::ptrdiff_t>(place.offset);
    tensors.push_back({place.name, place.shape, {begin, begin + static_cast<std::ptrdiff_t>(place.size())}});
  }
  const std::string job = job_beside(path);
  std::string text = "checkpoint " + shown_line(path) + ": all hashes are correct\n";
  if (!job.empty()) text += row("job", job_text(job));
  text +=
      row("place", place_of(it.progress) + ", after " + number_text(std::round(it.progress.seconds)) + " s");
  if (!job.empty()) {
    const auto accuracy =
        accuracy_text(fs::path(job).replace_filename("rounds.jsonl").string(), it.progress.version);
    if (accuracy) text += row(accuracy->starts_with("loss") ? "test set" : "test accuracy", *accuracy);
  }
  text += row("optimizer", count_of(it.steps, "step") + ", " + count_of(it.state.size(), "number") +
                               " beside each parameter");
  if (it.source.samples > 0) {
    text += row("trained on", count_of(it.source.samples, "sample") + " of " + it.source.data +
                                  ", inputs (raw - " + numbers_text(it.source.mean) + ") / " +
                                  numbers_text(it.source.deviation));
  }
  text += names_text(it.source);
  return text + row("parameters", size_text(tensors)) + tensors_text(tensors);
}

}  // namespace

void run_inspect(const InspectCommand& command) {
  std::error_code ignored;
  const bool file = fs::is_regular_file(command.path, ignored);
  const std::string text = file ? file_text(command.path) : checkpoint_text(find_checkpoint(command.path));
  std::fputs(text.c_str(), stdout);
}

}  // namespace steelyard
