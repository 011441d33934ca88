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
#include "app/report/text_table.h"
#include "app/tools/saved_model.h"
#include "core/error.h"
#include "core/json.h"
#include "core/record_parts.h"
#include "core/text.h"
#include "server/checkpoint/durable_file.h"
#include "server/checkpoint/manifest.h"
#include "server/checkpoint/safetensors.h"

namespace steelyard {

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t longest_file = std::uint64_t{64} << 30;  // bytes
constexpr std::size_t values_at = 22, longest_name = 60;         // columns
constexpr std::size_t most_inputs = 40;                          // lines

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

std::uint64_t odd_values(const Tensor& it) {
  return static_cast<std::uint64_t>(
      std::ranges::count_if(it.values, [](float value) { return !std::isfinite(value); }));
}

// A line for each tensor: name, shape, and the number of values that are not finite.
std::string tensors_text(const std::vector<Tensor>& tensors) {
  std::vector<std::vector<std::string>> rows;
  for (const Tensor& it : tensors) {
    std::string shape;
    for (const std::uint64_t extent : it.shape)
      shape += (shape.empty() ? "" : " x ") + std::to_string(extent);
    const std::uint64_t odd = odd_values(it);
    rows.push_back({shown_line(it.name, longest_name), shape.empty() ? "one number" : shape,
                    odd > 0 ? "(" + count_of(odd, "value") + " not finite)" : ""});
  }
  if (rows.empty()) return "";
  std::string text;
  for (const std::string& line : aligned_lines(rows)) text += "  " + line + "\n";
  return text;
}

std::uint64_t floats_in(const std::vector<Tensor>& tensors) {
  std::uint64_t floats = 0;
  for (const Tensor& it : tensors) floats += it.values.size();
  return floats;
}

std::string size_text(const std::vector<Tensor>& tensors) {
  return std::to_string(floats_in(tensors)) + " in " + count_of(tensors.size(), "tensor");
}

Json tensors_json(const std::vector<Tensor>& tensors) {
  Json list = Json::array();
  for (const Tensor& it : tensors)
    list.push_back({{"name", it.name}, {"shape", it.shape}, {"not_finite", odd_values(it)}});
  return list;
}

// ---- a safetensors file

struct FileContent {
  TensorFile file;
  std::vector<Tensor> tensors;
};

FileContent file_content(const std::string& path) {
  const std::vector<std::byte> bytes = read_bytes(path, longest_file);
  FileContent it{parse_safetensors(bytes, path), {}};
  for (const StoredTensor& stored : it.file.tensors) {
    stored.copy_to(
        it.tensors.emplace_back(stored.name, stored.shape, std::vector<float>(stored.size())).values);
  }
  it.file.tensors.clear();  // they refer to the bytes
  return it;
}

std::string file_text(const std::string& path, const FileContent& it) {
  std::string text =
      shown_line(path) + ": a valid safetensors file\n" + row("parameters", size_text(it.tensors));
  for (const auto& [key, value] : it.file.texts) text += row(shown_line(key, longest_name), value);
  return text + tensors_text(it.tensors);
}

Json file_json(const std::string& path, const FileContent& it) {
  Json metadata = Json::object();
  for (const auto& [key, value] : it.file.texts) metadata[key] = value;
  return {{"format", 1},
          {"file", path},
          {"metadata", metadata},
          {"parameters", floats_in(it.tensors)},
          {"tensors", tensors_json(it.tensors)}};
}

// ---- a checkpoint

// On the test set.
struct Evaluation {
  double accuracy = NAN, loss = NAN;  // NaN: unknown
  TestError error{};
};

// The words of the job that the run has; empty without a run.
struct RunOfCheckpoint {
  std::string job;                         // path of its job.toml
  std::string model, data;                 // names
  std::optional<Evaluation> evaluation{};  // of these parameters
};

// The evaluation of this version in the rounds.jsonl of its run; std::nullopt if it was not evaluated.
std::optional<Evaluation> evaluation_in(const std::string& rounds, Version version) {
  std::optional<Evaluation> found;
  const auto look_at = [&](const Json& json) {
    if (!json.is_object() || json.value("purpose", "") != "evaluate" ||
        json.value("round", Round{0}) != version)
      return;
    const Evaluation it{number_at(json, "accuracy", NAN), number_at(json, "loss", NAN), error_in(json)};
    if (std::isfinite(it.loss)) found = it;
  };
  for (const std::string& part : parts_of(rounds)) {
    std::ifstream file(part);
    for (std::string line; std::getline(file, line);) look_at(parse_json(line));
  }
  return found;
}

RunOfCheckpoint run_of(const std::string& checkpoint, Version version) {
  RunOfCheckpoint it{job_beside(checkpoint), {}, {}};
  if (it.job.empty()) return it;
  const auto unquoted = [](const std::string& value) {
    return value.size() > 1 && value.front() == '"' ? value.substr(1, value.size() - 2) : value;
  };
  std::ifstream file(it.job);
  std::string section;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("[")) section = line;
    if (!line.starts_with("name = ")) continue;
    if (section == "[model]") it.model = unquoted(line.substr(7));
    if (section == "[data]") it.data = unquoted(line.substr(7));
  }
  if (it.model == external_model) it.data.clear();  // the workers' own; the key has a default
  it.evaluation = evaluation_in(fs::path(it.job).replace_filename("rounds.jsonl").string(), version);
  return it;
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return names.size() > most ? text + ", ... (all are in " + manifest_file + ")" : text;
}

// The last columns are labels.
std::size_t labels_of(const SampleSource& source) {
  return source.target_mean.empty() ? 1 : source.target_mean.size();
}

std::string four_digits(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ", ") + printed("%.4g", value);
  return text;
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
    text += row("outputs", "times " + four_digits(deviation) + " plus " + four_digits(mean));
  const std::size_t labels = labels_of(source);
  if (source.column_names.size() <= labels) return text;
  const auto border = source.column_names.end() - static_cast<std::ptrdiff_t>(labels);
  const std::vector<std::string> inputs(source.column_names.begin(), border),
      rest(border, source.column_names.end());
  return text +
         row("columns", first_names(inputs) + (labels == 1 ? "; label " : "; labels ") + first_names(rest));
}

// Mean and deviation of the inputs, a line for each column or channel.
std::string normalisation_rows(const SampleSource& source) {
  std::string text;
  const std::size_t all = std::min(source.mean.size(), source.deviation.size());
  for (std::size_t i = 0; i < std::min(all, most_inputs); ++i) {
    const bool named = source.column_names.size() == source.mean.size() + labels_of(source);
    const std::string what = named                     ? "input '" + source.column_names[i] + "'"
                             : source.mean.size() == 1 ? "each input"
                                                       : "channel " + std::to_string(i);
    text += row(i == 0 ? "inputs" : "", what + ": (raw - " + printed("%.4g", source.mean[i]) + ") / " +
                                            printed("%.4g", source.deviation[i]));
  }
  if (all > most_inputs)
    text += row("", "and " + std::to_string(all - most_inputs) + " more: --json has all");
  return text;
}

std::string source_rows(const SampleSource& source) {
  std::string text;
  if (source.samples > 0) {
    text += row("trained on", count_of(source.samples, "sample") + " of " + source.data);
    text += normalisation_rows(source);
  }
  return text + names_text(source);
}

std::string evaluation_row(const Evaluation& it) {
  std::string text = printed("loss %.6g", it.loss);
  if (it.error.known()) text += ", " + it.error.name + " " + it.error.text();
  const bool accurate = std::isfinite(it.accuracy);
  return row(accurate ? "test accuracy" : "test set",
             (accurate ? printed("%.2f %%, ", 100 * it.accuracy) : "") + text);
}

std::vector<Tensor> tensors_of(const Snapshot& it) {
  std::vector<Tensor> tensors;
  for (const TensorPlace& place : it.layout.tensors) {
    const auto begin = it.parameters.begin() + static_cast<std::ptrdiff_t>(place.offset);
    tensors.push_back({place.name, place.shape, {begin, begin + static_cast<std::ptrdiff_t>(place.size())}});
  }
  return tensors;
}

std::string checkpoint_text(const std::string& path, const Snapshot& it, const RunOfCheckpoint& run) {
  const std::vector<Tensor> tensors = tensors_of(it);
  std::string text = "checkpoint " + shown_line(path) + ": all hashes are correct\n";
  if (!run.job.empty())
    text +=
        row("job", "model \"" + run.model + "\", data " +
                       (run.data.empty() ? "of the workers" : "\"" + run.data + "\"") + ", in " + run.job);
  text +=
      row("place", place_of(it.progress) + ", after " + number_text(std::round(it.progress.seconds)) + " s");
  if (run.evaluation) text += evaluation_row(*run.evaluation);
  text += row("optimizer", count_of(it.steps, "step") + ", " + count_of(it.state.size(), "number") +
                               " beside each parameter");
  return text + source_rows(it.source) + row("parameters", size_text(tensors)) + tensors_text(tensors);
}

Json checkpoint_json(const std::string& path, const Snapshot& it, const RunOfCheckpoint& run) {
  const auto or_null = [](const std::string& text) { return text.empty() ? Json() : Json(text); };
  const std::vector<Tensor> tensors = tensors_of(it);
  const SampleSource& source = it.source;
  const Evaluation evaluation = run.evaluation.value_or(Evaluation());
  Json json = {{"format", 1},
               {"checkpoint", path},
               {"job", or_null(run.job)},
               {"model", or_null(run.model)},
               {"data", or_null(run.data)},
               {"round", it.progress.version},
               {"epoch", it.progress.epoch},
               {"offset", it.progress.offset},
               {"seconds", it.progress.seconds},
               {"accuracy", known_or_null(evaluation.accuracy)},
               {"test_loss", known_or_null(evaluation.loss)},
               {"optimizer_steps", it.steps},
               {"optimizer_numbers", it.state.size()},
               {"samples", source.samples},
               {"mean", source.mean},
               {"deviation", source.deviation},
               {"class_names", source.class_names},
               {"column_names", source.column_names},
               {"target_mean", source.target_mean},
               {"target_deviation", source.target_deviation},
               {"parameters", floats_in(tensors)},
               {"tensors", tensors_json(tensors)}};
  add_error(json, evaluation.error);
  return json;
}

}  // namespace

void run_inspect(const InspectCommand& command) {
  check_output("--json", command.json);
  std::error_code ignored;
  Json json;
  std::string text;
  if (fs::is_regular_file(command.path, ignored)) {
    const FileContent content = file_content(command.path);
    text = file_text(command.path, content);
    json = file_json(command.path, content);
  } else {
    const std::string path = find_checkpoint(command.path);
    const Snapshot snapshot = read_checkpoint(path);
    const RunOfCheckpoint run = run_of(path, snapshot.progress.version);
    text = checkpoint_text(path, snapshot, run);
    json = checkpoint_json(path, snapshot, run);
  }
  if (!command.json.empty()) write_output("--json", command.json, dump_json(json, 2) + "\n");
  if (command.json != "-") std::fputs(text.c_str(), stdout);
}

}  // namespace steelyard
