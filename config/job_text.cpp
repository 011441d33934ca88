// Texts of jobs: the resolved job and the help, from the table of keys; and a job of one worker.
#include <sstream>

#include "config/job_file.h"
#include "config/job_keys.h"
#include "config/job_source.h"
#include "config/toml_text.h"

namespace steelyard {
namespace {

std::string value_text(const JobKey& key, JobDraft& draft) {
  const JobField field = key.field(draft);
  if (auto* const* text = std::get_if<std::string*>(&field))
    return key.limits.accepts != nullptr ? option_text(**text) : quoted(**text);
  if (auto* const* number = std::get_if<double*>(&field)) return number_text(**number);
  if (auto* const* number = std::get_if<std::uint32_t*>(&field)) return std::to_string(**number);
  return std::to_string(*std::get<std::uint64_t*>(field));
}

// All keys of a section, whether the file had them or not: a resolved job does not change its meaning when a
// default does.
std::string key_lines(const std::string& section, JobDraft& draft) {
  std::string text;
  for (const JobKey& key : job_keys()) {
    if (section == key.section) text += std::string(key.name) + " = " + value_text(key, draft) + "\n";
  }
  return text;
}

std::string option_lines(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [name, value] : options) text += name + " = " + option_text(value) + "\n";
  return text;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

std::string resolved_text(JobDraft draft) {
  const Job& job = draft.file.job;
  std::string text = "# This job with every default; steelyard train takes it again.\n";
  for (const JobSection& section : job_sections()) {
    const std::string name = section.name;
    if (name == "worker") continue;  // as often as there are workers, at the end
    text += "\n[" + name + "]\n" + key_lines(name, draft);
    if (name == "model") {
      for (const auto& [option, value] : job.model_options)
        text += option + " = " + number_text(value) + "\n";
    }
    if (name == "data") text += option_lines(job.data_options);
  }
  if (!job.policy_options.empty())
    text += "\n[policy." + job.policy + "]\n" + option_lines(job.policy_options);
  for (const WorkerSpec& worker : draft.file.worker_specs) {
    draft.worker = worker;
    text += "\n[[worker]]\n" + key_lines("worker", draft);
  }
  return text;
}

std::string describe_keys() {
  constexpr std::size_t value_column = 28, indented = 30;
  JobDraft draft;
  draft.worker.name = "worker-0";
  std::string text;
  for (const JobSection& section : job_sections()) {
    const std::string name = section.name;
    text += (name == "worker" ? "[[worker]]  " : "[" + name + "]  ") + std::string(section.help) + "\n";
    for (const JobKey& key : job_keys()) {
      if (name != key.section) continue;
      const JobField field = key.field(draft);
      text += "  " + padded(std::string(key.name) + " = " + value_text(key, draft), value_column) + key.help +
              "\n";
      const bool any_name = std::holds_alternative<std::string*>(field) && key.limits.choices.empty() &&
                            key.limits.expected == nullptr;
      if (!any_name) text += std::string(indented, ' ') + allowed(key) + "\n";
    }
    if (section.options != nullptr) text += "  " + padded("...", value_column) + section.options + "\n";
    if (name == "cluster") text += "[policy.<policy>]  options of that policy: steelyard help policy\n";
  }
  return text;
}

std::string job_alone(const std::string& resolved, const std::string& worker) {
  const JobSource source(resolved, "resolved job", {});
  toml::table root = source.root();
  toml::array only;
  for (const toml::node& node : *root["worker"].as_array()) {
    const toml::table& table = *node.as_table();
    if (table["name"].value_or(std::string()) == worker) only.push_back(table);
  }
  root.insert_or_assign("worker", only);
  std::ostringstream text;
  text << "# One worker alone, for `steelyard compare`.\n" << root << "\n";
  return text.str();
}

}  // namespace steelyard
