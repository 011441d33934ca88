// A batch script for Slurm: each [[host]] of the hosts file is a group of nodes; several of them are a
// heterogeneous job. The script runs `steelyard launch --hosts slurm` inside the allocation.
//
// Slurm starts a preempted job again only if it ends the job itself. With a GraceTime the steps get SIGTERM
// and end the job before that, so the script puts it back into the queue, if result.json has code 75. The
// exit code of srun does not decide: it is the highest of all tasks, killed and restarted ones included.
#pragma once

#include <string>
#include <vector>

#include "app/render/rendered_job.h"

namespace steelyard {

struct SlurmOptions {
  std::vector<std::string> sbatch;  // further options, for every group
};

std::string sbatch_text(const RenderedJob& job, const SlurmOptions& options);

}  // namespace steelyard
