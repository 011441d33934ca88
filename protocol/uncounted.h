#pragma once

#include <cstdint>

namespace steelyard {

// Report::correct of a worker that does not count correct answers, as where a script's score gives only a
// loss. RoundRecord::accuracy is then -1.
inline constexpr std::uint64_t uncounted = UINT64_MAX;

}  // namespace steelyard
