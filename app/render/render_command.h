// `steelyard render`: writes what Slurm or Kubernetes needs to run a job, from its job file and a hosts file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "app/launch/launch_plan.h"

namespace steelyard {

inline const std::vector<std::string> render_forms{"slurm", "jobset", "trainingruntime"};

struct RenderCommand {
  std::string form;  // of render_forms
  std::string hosts_file;
  std::string job_file;                  // or a script
  ScriptOptions script{};                // its arguments
  std::vector<std::string> overrides{};  // of --set
  std::string name{};                    // empty: the job's
  std::uint32_t grace_s = 60;            // between SIGTERM and SIGKILL
  std::string storage = "10Gi";          // for the run directory, on Kubernetes
  std::vector<std::string> sbatch{};     // further options of sbatch
  std::string output = "-";              // file
};

// Returns the text, without writing it. Throws Failure (configuration) for errors in the files, with their
// place.
std::string rendered(const RenderCommand& command);

void run_render(const RenderCommand& command);

}  // namespace steelyard
