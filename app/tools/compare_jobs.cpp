#include "app/tools/compare_jobs.h"

#include <memory>
#include <utility>

#include "app/config/prepare_job.h"
#include "app/launch/children.h"
#include "app/launch/user_script.h"
#include "app/report/compare/record.h"
#include "app/report/run_directory.h"
#include "app/tools/child_run.h"
#include "balancing/policies.h"
#include "core/error.h"
#include "core/record_parts.h"

namespace steelyard {
namespace {

std::vector<std::string> settings(const Contender& contender, std::uint64_t seed) {
  return {"cluster.policy=" + contender.policy, "cluster.sync=" + contender.sync,
          "job.seed=" + std::to_string(seed)};
}

Job with(const ComparedJob& job, const std::vector<std::string>& overrides) {
  if (!job.script) return read_job_file(job.path, overrides).job;
  LaunchOptions options;
  options.script = job.script;
  options.overrides = overrides;
  return job_for_script(options).job;
}

class Clusters {
 public:
  Clusters(ComparedJob job, std::string directory, std::uint64_t seed, const std::atomic<bool>& interrupted)
      : job_(std::move(job)), directory_(std::move(directory)), seed_(seed), interrupted_(interrupted) {}

  Trial run(const Contender& contender, std::uint64_t repeat) {
    const std::string run = directory_ + "/" + plain_label(contender) + "-" + std::to_string(repeat + 1);
    const std::string log = run + ".log";
    const ChildEnd end = run_child(arguments(contender, repeat, run), log, interrupted_);
    const std::string result = read_text(run + "/result.json");
    Trial trial = trial_of(read_parts(run + "/rounds.jsonl"), result, contender.sync);
    trial.directory = run;
    if (!contender.alone.empty()) trial.percent_of_ideal = -1;  // nothing was divided
    if (end.code() == 0) return trial;
    // result.json has the reason, unless the run was interrupted.
    const bool decided =
        !result.empty() && !trial.good() && !trial.failure.starts_with(name(Outcome::interrupted));
    if (!end.complaint.empty() && !decided) trial.failure = end.complaint;
    if (trial.good()) trial.failure = "the cluster " + describe_status(end.status) + "; see " + log;
    trial.hopeless = end.code() == static_cast<int>(ExitCode::configuration) ||
                     end.code() == static_cast<int>(ExitCode::usage);
    return trial;
  }

 private:
  [[nodiscard]] std::vector<std::string> arguments(const Contender& contender, std::uint64_t repeat,
                                                   const std::string& run) const {
    std::vector<std::string> words{job_.script ? "run" : "train", "--run-dir", run};
    std::vector<std::string> overrides = job_.overrides;
    std::string file = job_.path;
    if (!contender.alone.empty()) {
      file = directory_ + "/" + plain_label(contender) + ".toml";
      write_text(file, job_alone(job_.file.resolved, contender.alone));
      overrides.clear();  // already applied to this file
    }
    for (const auto& list : {overrides, settings(contender, seed_ + repeat)}) {
      for (const std::string& setting : list) words.insert(words.end(), {"--set", setting});
    }
    if (!job_.web.empty()) words.insert(words.end(), {"--web", job_.web});
    if (job_.script) words.insert(words.end(), {"-n", std::to_string(job_.script->workers)});
    words.push_back(file);
    return words;
  }

  const ComparedJob job_;
  const std::string directory_;
  const std::uint64_t seed_;
  const std::atomic<bool>& interrupted_;
};

}  // namespace

Contest job_contest(const ComparedJob& job, const std::string& directory, std::uint64_t seed,
                    const std::atomic<bool>& interrupted) {
  auto clusters = std::make_shared<Clusters>(job, directory, seed, interrupted);
  Contest contest;
  contest.run = [clusters](const Contender& contender, std::uint64_t repeat) {
    return clusters->run(contender, repeat);
  };
  contest.interrupted = [&interrupted] { return interrupted.load(); };
  if (job.script || job.file.worker_specs.size() == 1) return contest;
  contest.best_alone = [](const Comparison& so_far) -> std::optional<Contender> {
    const std::string worker = fastest_worker(so_far);
    if (worker.empty()) return std::nullopt;
    return Contender{"equal", "bsp", worker};
  };
  return contest;
}

std::vector<std::string> refusals(const ComparedJob& job, const std::vector<Contender>& contenders) {
  if (!job.script) {
    Job whole = job.file.job;
    whole.policy = "equal";  // the job's own policy may not be among the contenders
    whole.policy_options.clear();
    whole.sync.paced = false;
    complete(whole, described(workload_of(whole)));
  }
  std::vector<std::string> reasons;
  std::size_t others = 0;
  for (const Contender& contender : contenders) {
    if (contender != equal_bsp) ++others;
    std::vector<std::string> overrides = job.overrides;
    for (const std::string& setting : settings(contender, 1)) overrides.push_back(setting);
    try {
      const Job chosen = with(job, overrides);
      (void)policy_of(chosen);
    } catch (const Failure& failure) {
      reasons.push_back(label(contender) + ": " + failure.what());
    }
  }
  if (!reasons.empty() && reasons.size() >= others) throw Failure(ExitCode::configuration, reasons.front());
  return reasons;
}

}  // namespace steelyard
