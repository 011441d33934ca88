// What a scheduler's process starts from: a new job, or that of a killed scheduler.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "app/processes/initial_state.h"
#include "app/processes/process_settings.h"
#include "app/processes/recovered_run.h"
#include "app/processes/run_journal.h"
#include "app/report/run_directory.h"
#include "scheduler/scheduler.h"
#include "transport/link.h"

namespace steelyard {

// The job and run of this process, new or continued.
struct RunSetup {
  JobFile file;
  RunDirectory run;
  Snapshot initial{};
  SchedulersPlace place{};
};

// Prepares a new job. `run`: the directory, if already chosen; `lock`: gets its lock. `endpoint`, `key`: the
// place where this process listens, and its public key. Throws Failure.
RunSetup begin_anew(const SchedulerOptions& options, JobFile file, std::optional<RunDirectory> run,
                    std::unique_ptr<RunLock>& lock, Link& link, const std::string& endpoint,
                    const std::string& key);

// The state left by an earlier process of this run, with --recover and if it had begun.
struct Left {
  std::optional<RunDirectory> run;
  std::unique_ptr<RunLock> lock;
  std::optional<Killed> killed;
};
// Throws Failure if another process trains in the directory, or its journal cannot be used.
Left left_behind(const SchedulerOptions& options);

// Prepares to continue the job of a killed scheduler: cuts the record to the state in the journal's head.
RunSetup go_on(const Killed& killed, const RunDirectory& run);
// Whether the initial state is no longer needed. Until training begins, a lost server is replaced by another
// one, which needs it; the weights of an external model are not available again.
bool has_first_state(const Scheduler& scheduler, const Job& job);
// Computes the initial state again, for servers that have not loaded it. Throws Failure (temporary) if only
// workers could.
void restore_values(RunSetup& task);

}  // namespace steelyard
