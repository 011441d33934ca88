// Backup workers (SyncMode::backup): what a round leaves over, and how the next one has it among its
// positions.
#pragma once

#include <vector>

#include "scheduler/members/members.h"
#include "scheduler/rounds/planner.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

// The parts of a round's positions that are of it, in their order.
std::vector<Interval> between_holes(const Open& open);

// The policy's shares, laid over what is between the holes one after the other; a share that goes across a
// hole is in several parts. What was left over comes first, and each round it is the next worker that has it:
// nobody gets his own back for ever. Nothing if no worker is there.
std::vector<Planner::Share> shares_between_holes(Planner& planner, const RoundState& round,
                                                 std::uint64_t grain);

// What nobody has reported of the round is left over. The policy is shown that it took so long at least.
void leave_unreported(Time now, RoundState& round, Planner& planner, const Members& members);

}  // namespace steelyard
