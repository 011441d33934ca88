// Crowding: polite workers whose machines are full leave the round, and come back when there is room.
//
// A polite worker (worker/compute/polite.h) computes with what nobody else wants, and that may be nothing.
// Then its piece has no end, and all others wait for it. So it leaves
//
//  - when nothing has been left to it for some seconds (scheduler/members/members.h);
//  - when its machine is crowded, and the oldest round waits for such workers alone, and has done so for as
//    long as all others took together: twice the time that was planned.
//
// It gets no piece then, and others do what it owes. They are not asked to cut it (Cut, of hand-over): who
// computes nothing looks at no cut. Its push is welcome if it comes all the same. What it gets when there is
// room again is no trial that costs the others anything, as its machine has said so by itself.
//
// Somebody always works: the last one does not leave, and when no other is left, all come back
// (scheduler/members/members.h).
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <vector>

#include "scheduler/members/members.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

// Slots of those that are to leave now.
[[nodiscard]] std::vector<std::uint32_t> to_leave(const Members& members, const std::list<RoundState>& rounds,
                                                  Time now, const Job& job);
// Slots of those that have room again.
[[nodiscard]] std::vector<std::uint32_t> to_come_back(const Members& members, Time now);

[[nodiscard]] std::string leaves(const WorkerMember& worker);  // for people
[[nodiscard]] std::string comes_back(const WorkerMember& worker);

}  // namespace steelyard
