// Rests: a worker whose gradient was refused gets nothing for some rounds (train.bad_gradient = "rest"). What
// it owes it still owes. Somebody always works: the last one is not sent to rest, and when no other is left,
// all rests end.
#pragma once

#include "scheduler/members/members.h"

namespace steelyard {

inline constexpr Round rest_rounds = 10;

// After this round. False: it is not there, or the only one.
bool rest(Members& members, std::uint32_t slot, Round round);

// Ends those that are over when this round begins.
void end_rests(Members& members, Round round);
// Ends all if nobody works without them, those of workers that have no room (scheduler/members/room.h) too; whether
// there were any.
bool end_rests_if_nobody_works(Time now, Members& members);

}  // namespace steelyard
