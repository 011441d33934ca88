// Whether a job can be reproducible: the same bits of the parameters for any split of its rounds, any workers
// and any losses (docs/decisions/40-grain-by-grain.md).
#pragma once

#include <string>

#include "app/config/job_file.h"

namespace steelyard {

// Why this job cannot be, where, and what to do. Empty: it can. `sync`: its mode as it was written.
std::string reproducible_trouble(const JobFile& file, const std::string& sync);

}  // namespace steelyard
