// What a worker codes and decodes where what travels is coded (Job::push, Job::pull; protocol/float_code.h).
// Pure functions.
#pragma once

#include <vector>

#include "core/layout.h"
#include "protocol/job.h"
#include "protocol/messages.h"
#include "worker/version_buffer.h"

namespace steelyard {

// What is computed for a slice of a piece, as it is pushed. How it is rounded follows from these alone,
// whoever computes it and whenever.
Blob as_pushed(const Job& job, const Slice& slice, const Piece& piece, const Blob& values);

// A slice that is told as a difference, whole: added to `before`. Without values if that cannot be.
Parameters added(const Job& job, const std::vector<Slice>& slices, const Parameters& difference,
                 const VersionBuffer& before);

}  // namespace steelyard
