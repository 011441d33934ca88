#include "app/config/file_kind.h"

#include "app/config/job_source.h"
#include "core/error.h"

namespace steelyard {
namespace {

std::string job_sign(const toml::table& root) {
  for (const char* section : {"cluster", "train", "model", "data"}) {
    if (root.contains(section)) return "[" + std::string(section) + "]";
  }
  return "";
}

// The first of these keys that is there; empty if none is.
std::string first_of(const toml::table& table, const std::string& section,
                     std::initializer_list<const char*> keys) {
  for (const char* key : keys) {
    if (table.contains(key)) return std::string(key) + " in " + section;
  }
  return "";
}

}  // namespace

std::string scenario_sign(const JobSource& source) {
  const toml::table& root = source.root();
  if (root.contains("network")) return "[network]";
  if (root.contains("event")) return "[[event]]";
  if (const toml::table* job = root["job"].as_table()) {
    std::string found = first_of(*job, "[job]", {"global_batch", "samples_per_epoch"});
    if (!found.empty()) return found;
  }
  if (const toml::array* workers = root["worker"].as_array()) {
    for (const toml::node& worker : *workers) {
      if (!worker.is_table()) continue;
      std::string found = first_of(*worker.as_table(), "[[worker]]",
                                   {"time_ms", "samples_per_s", "profile", "recorded", "trace"});
      if (!found.empty()) return found;
    }
  }
  return "";
}

FileKind kind_of(std::string_view text, const std::string& file) {
  const JobSource source(text, file, {});
  const std::string scenario = scenario_sign(source), job = job_sign(source.root());
  // A scenario may train too; but what its cluster is, its workers say.
  if (!scenario.empty() && source.root().contains("cluster")) {
    throw Failure(ExitCode::configuration, file + ": it has " + scenario +
                                               ", as scenarios do, and [cluster], as jobs do: make two files "
                                               "of it (steelyard help job, steelyard help scenario)");
  }
  if (!scenario.empty()) return FileKind::scenario;
  if (!job.empty()) return FileKind::job;
  throw Failure(ExitCode::configuration,
                file +
                    ": it is neither a job, which has [model], [data] or [cluster], nor a scenario, whose "
                    "[[worker]] have time_ms or samples_per_s (steelyard help job, steelyard help scenario)");
}

}  // namespace steelyard
