// The state of a run: one word and its reason, the same in the terminal, `status`, `runs`, the page and
// /metrics. Pure.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

enum class RunState {
  waiting,      // no round has ended; the reason names what it waits for
  running,      // rounds end
  paused,       // it trains, but no round has ended for much longer than usual
  finished,     // it reached its end
  interrupted,  // it was stopped or killed, or a standby continues it elsewhere
  failed,       // it cannot go on
};
inline constexpr std::array all_run_states{RunState::waiting,  RunState::running,     RunState::paused,
                                           RunState::finished, RunState::interrupted, RunState::failed};
const char* name(RunState state);

struct StateOfRun {
  RunState state = RunState::waiting;
  std::string reason;  // empty for `running`, and for `finished` at the limit of the job

  [[nodiscard]] bool over() const { return state >= RunState::finished; }
  [[nodiscard]] std::string text() const;  // "failed: server lost: ..."
};

// By what is in `run`: record, result, job and life.
StateOfRun state_of(const ReportedRun& run);
// The state after the end, by the outcome (app/report/run_directory.h) and text.
StateOfRun ended_state(const std::string& outcome, const std::string& text);

// The time since the last round, in seconds, from which a running job is paused.
double pause_after(const RunRecord& record);

// The workers of the job that have not joined, by the notes of the scheduler.
std::vector<std::string> missing_workers(const ReportedRun& run);

}  // namespace steelyard
