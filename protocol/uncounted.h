#pragma once

#include <steelyard/micro_batch.h>

#include <cstdint>

namespace steelyard {

// Report::correct of a worker that does not count correct answers, as where a script's score gives only a
// loss, or a model predicts numbers. RoundRecord::accuracy is then -1.
inline constexpr std::uint64_t uncounted = nn::Sums::uncounted;

}  // namespace steelyard
