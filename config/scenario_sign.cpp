#include "config/scenario_sign.h"

#include "config/job_source.h"

namespace steelyard {
namespace {

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

}  // namespace steelyard
