// How many slices a shard has on their way to one worker that has not acknowledged them.
//
// What is on its way is kept in memory until it has left, in the version that it had. Where pushes are
// applied at once every worker may hold another version so: a window bounds that, however slow a line is. All
// windows of a shard together are 128 slices (at most 128 MB), or four for each worker.
#pragma once

#include <algorithm>
#include <cstdint>

#include "protocol/job.h"

namespace steelyard {

inline std::uint32_t pull_window(const Job& job) {
  return std::clamp<std::uint32_t>(128 / std::max<std::uint32_t>(job.workers, 1), 4, 16);
}

}  // namespace steelyard
