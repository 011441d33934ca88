// Texts of jobs: the resolved job, and a job of one worker.
#include <sstream>

#include "app/config/job_file.h"
#include "app/config/job_keys.h"
#include "app/config/job_source.h"
#include "app/config/prepare_job.h"
#include "app/config/toml_section.h"
#include "nn/models.h"

namespace steelyard {
namespace {

// All keys of a section, whether the file had them or not: a resolved job does not change its meaning when a
// default does. But for lists without numbers, which no file has.
std::string key_lines(const Section& section) {
  std::string text;
  for (const Key& key : section.keys) {
    const std::string value = key.name.empty() ? "" : value_text(key);
    if (!value.empty()) text += key.name + " = " + value + "\n";
  }
  return text;
}

std::string option_lines(const std::map<std::string, std::string>& options) {
  std::string text;
  for (const auto& [name, value] : options) text += name + " = " + option_text(value) + "\n";
  return text;
}

}  // namespace

std::string resolved_text(JobDraft draft) {
  const Job& job = draft.file.job;
  const Schema schema = schema_of(draft);
  const bool external = job.model == external_model;
  std::string text = external
                         ? "# The job of a script, with every default; model and data come with the script.\n"
                         : "# This job with every default; steelyard train takes it again.\n";
  for (const Section& section : schema.sections) {
    if (section.kind != Section::Kind::one) continue;  // at the end
    if (external && section.name == "data") continue;
    text += "\n[" + section.name + "]\n" + key_lines(section);
    if (section.name == "model") text += option_lines(nn::texts_of(job.model_options));
    if (section.name == "data") text += option_lines(job.data_options);
  }
  if (!job.policy_options.empty())
    text += "\n[policy." + job.policy + "]\n" + option_lines(job.policy_options);
  for (const WorkerSpec& worker : draft.file.worker_specs) {
    draft.worker = worker;
    text += "\n[[worker]]\n" + key_lines(schema.at("worker"));
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
