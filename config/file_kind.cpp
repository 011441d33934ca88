#include "config/file_kind.h"

#include "config/job_source.h"
#include "config/scenario_sign.h"
#include "core/error.h"

namespace steelyard {
namespace {

std::string job_sign(const toml::table& root) {
  for (const char* section : {"cluster", "train", "model", "data"}) {
    if (root.contains(section)) return "[" + std::string(section) + "]";
  }
  return "";
}

}  // namespace

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
