#include "app/report/run/reported_run.h"

#include <algorithm>
#include <filesystem>

#include "app/config/job_file.h"
#include "app/config/job_source.h"
#include "core/error.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t most_mb = 2048;  // of a file of lines

std::string text_of(const std::string& path, const std::string& what, bool needed) {
  std::error_code ignored;
  if (!needed && !fs::exists(path, ignored)) return "";
  return read_input(path, {what, most_mb, "name the directory of a run, such as runs/job-1"});
}

std::string last_part(const std::string& path) {
  return fs::path(path + "/.").lexically_normal().parent_path().filename().string();
}

std::string plural(std::uint64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

void take_job(ReportedRun& run) try {
  const JobFile file = parse_job(run.job, run.path + "/job.toml", {});
  const Job& job = file.job;
  run.name = job.name;
  run.policy = job.policy;
  run.sync = sync_text(job.sync);
  run.about = job.model + " on " + job.data + ", " + std::to_string(job.global_batch) + " samples a batch, " +
              plural(file.servers, "server") + ", mode " + run.sync + ", policy " + run.policy;
  run.terms.barrier = job.sync.has_versions();
  run.terms.grain = job.grain;
  run.epochs = job.epochs;
  run.rounds = job.rounds;
  run.seconds = job.seconds;
  for (const WorkerSpec& worker : file.worker_specs) {
    if (worker.max_batch > 0) run.terms.most[worker.name] = worker.max_batch;
  }
} catch (const Failure& failure) {
  run.trouble = failure.what();
  // Rounds have a percentage of the ideal only where workers wait for each other.
  run.terms.barrier =
      std::ranges::any_of(run.record.rounds, [](const RunRound& it) { return it.percent_of_ideal >= 0; });
}

}  // namespace

std::string short_path(const ReportedRun& run, const std::vector<ReportedRun>& among) {
  const std::string part = last_part(run.path);
  const auto same = std::ranges::count_if(
      among, [&](const ReportedRun& it) { return it.path != run.path && last_part(it.path) == part; });
  return same > 0 ? run.path : part;
}

ReportedRun reported_run(const std::string& path, const std::string& job, RunRecord record) {
  ReportedRun run;
  run.path = path;
  run.job = job;
  run.record = std::move(record);
  run.name = last_part(path);
  take_job(run);
  return run;
}

ReportedRun read_run(const std::string& path) {
  const std::string job = text_of(path + "/job.toml", "run", true);
  return reported_run(path, job,
                      run_record(text_of(path + "/rounds.jsonl", "rounds of a run", true),
                                 text_of(path + "/events.jsonl", "events of a run", false),
                                 text_of(path + "/result.json", "result of a run", false)));
}

}  // namespace steelyard
