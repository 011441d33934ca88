// `steelyard doctor`: checks the hosts of a hosts file before a job. It reaches each as `launch` does, runs
// `steelyard examine` there (app/hosts/examination.h), and has the hosts connect to each other as the job's
// processes will. Everything is checked on all hosts before anything is reported. It leaves nothing behind.
#pragma once

#include <string>

#include "app/launch/launch_plan.h"

namespace steelyard {

struct DoctorCommand {
  LaunchOptions launch;  // hosts, job or script, --set
  std::string json;      // file; "-": standard output; empty: none
};

// Returns 0 if `launch` would find all that it needs, else the code of the first problem (ExitCode).
int run_doctor(const DoctorCommand& command);

}  // namespace steelyard
