// A run's journal as text: what its scheduler heard and what it answered, for people who look for a fault.
// The scheduler is made anew and hears all of it once more, so a debugger sees what happened.
//
//   #41 12.204511872 worker-3f2a Report 1 12 ...
//       -> shard-7 Open 1 4 ...
#pragma once

#include <cstdint>
#include <ostream>

#include "app/config/extensions.h"
#include "app/report/run_directory.h"

namespace steelyard {

// The records up to number `until`; times in seconds since the first. The same text whenever it is asked for.
// Throws Failure (configuration) where there is none, or it is of another build.
void print_journal(const RunDirectory& run, std::uint64_t until, const Extensions& extensions,
                   std::ostream& out);

}  // namespace steelyard
