// What an earlier start of a job has left in its run directory, and how the next start goes on.
#pragma once

#include <optional>
#include <string>

#include "app/report/run_directory.h"

namespace steelyard {

// The exit code in the record of a run that has ended; nothing if it has not.
std::optional<int> ended_with(const RunDirectory& run);

enum class Again { anew, resume, recover };
struct LeftRun {
  Again again = Again::anew;
  std::string port{};  // recover: where the members of the job expect the scheduler
};
// `keys`: directory of the scheduler's key; empty: none. `with_servers`: servers may still have the model, so
// that a scheduler can continue from its journal.
LeftRun left_in(const RunDirectory& run, const std::string& keys, bool with_servers);

}  // namespace steelyard
