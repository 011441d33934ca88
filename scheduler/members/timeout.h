// How long an answer may take before the question is repeated: two heartbeats.
#pragma once

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

inline Duration timeout_of(const Job& job) { return from_seconds(2 * job.heartbeat); }

}  // namespace steelyard
