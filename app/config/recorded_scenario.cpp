#include "app/config/recorded_scenario.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "app/config/device_files.h"
#include "app/config/job_file.h"
#include "app/config/job_source.h"
#include "app/config/toml_section.h"
#include "core/device_name.h"
#include "core/error.h"
#include "protocol/sync_mode.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const std::string& what) { throw Failure(ExitCode::configuration, what); }

std::string line(const std::string& key, const std::string& value) { return key + " = " + value + "\n"; }

std::string policy_section(const Job& job) {
  if (job.policy_options.empty()) return "";
  std::string text = "[policy." + job.policy + "]\n";
  for (const auto& [name, value] : job.policy_options) text += line(name, option_text(value));
  return text;
}

// What the job file says of a worker; one that came by itself is a CPU as any other.
WorkerSpec spec_of(const JobFile& job, const std::string& name) {
  const auto found = std::ranges::find(job.worker_specs, name, &WorkerSpec::name);
  return found == job.worker_specs.end() ? WorkerSpec{} : *found;
}

std::string worker_section(const JobFile& job, const std::string& name, const std::string& rounds) {
  const WorkerSpec spec = spec_of(job, name);
  const std::optional<Device> device = device_in(spec.device);
  const bool gpu = device && kind(*device) == DeviceKind::gpu;
  return "[[worker]]\n" + line("name", steelyard::toml_quoted(name)) + (gpu ? line("kind", "\"gpu\"") : "") +
         (spec.max_batch > 0 ? line("max_batch", std::to_string(spec.max_batch)) : "") +
         line("recorded", steelyard::toml_quoted(rounds));
}

void require_known(const std::vector<std::string>& without, const RecordedRun& record,
                   const std::string& run) {
  for (const std::string& name : without) {
    if (std::ranges::find(record.workers, name, &RecordedWorker::name) != record.workers.end()) continue;
    std::vector<std::string> names;
    for (const RecordedWorker& worker : record.workers) names.push_back(worker.name);
    refuse("--without " + name + ": no worker of " + run + " is called so" + among(name, names));
  }
}

}  // namespace

Replay replay_of(const std::string& run, const std::vector<std::string>& without) {
  const std::string directory = fs::absolute(run).lexically_normal().string();
  const std::string rounds = directory + "/rounds.jsonl", path = directory + "/job.toml";
  const JobFile job =
      parse_job(read_input(path, {"job", 16, "give the directory of a run, as in runs/demo-1"}), path, {});
  const SyncMode sync = job.job.sync;
  if (sync.is_local()) {
    refuse(run + " took local steps (" + sync_text(sync) +
           "): its rounds do not tell how long a step takes: replay a run under bsp, ssp or asp");
  }
  const RecordedRun record = read_record(rounds);
  require_known(without, record, run);
  Replay replay{"", job.job.policy, sync_text(sync), record.seconds, record.rounds};
  replay.scenario =
      "# " + run + " again, for `steelyard simulate` and `steelyard compare`.\n[job]\n" +
      line("global_batch", std::to_string(job.job.global_batch)) +
      line("samples_per_epoch", std::to_string(record.epoch_samples)) +
      line("rounds", std::to_string(record.rounds)) + line("seed", std::to_string(job.job.seed)) +
      line("sync", steelyard::toml_quoted(replay.sync)) +
      line("policy", steelyard::toml_quoted(replay.policy)) + policy_section(job.job) + "[network]\n" +
      line("servers", std::to_string(job.job.shards)) + line("step_ms", number_text(record.exchange_ms));
  std::string events;
  std::size_t there = 0;
  for (const RecordedWorker& worker : record.workers) {
    if (std::ranges::find(without, worker.name) != without.end()) continue;
    ++there;
    replay.scenario += worker_section(job, worker.name, rounds);
    if (worker.first_round == 0) continue;
    events += "[[event]]\n" + line("worker", steelyard::toml_quoted(worker.name)) + "join = true\n" +
              line("from_round", std::to_string(worker.first_round));
  }
  if (there == 0) refuse("--without: no worker of " + run + " is left");
  replay.scenario += events;
  return replay;
}

}  // namespace steelyard
