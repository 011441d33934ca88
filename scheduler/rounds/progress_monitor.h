// ProgressMonitor: which workers are there and do not get on, and what people are told of it.
//
// A worker whose servers do not answer it is cut off. A worker that could do what it owes and does not is
// stalled: others do what it owes until it gets on again.
#pragma once

#include <algorithm>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"
#include "scheduler/members/liveness.h"
#include "scheduler/members/members.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

class ProgressMonitor {
 public:
  // All three belong to the caller and outlive this.
  ProgressMonitor(const Job& job, const Members& members, const std::list<RoundState>& rounds)
      : job_(job), members_(members), rounds_(rounds) {}

  // Before the training begins: what it waits for, again and again.
  std::vector<std::string> waiting_for(Time now);
  // Whether the training has the workers that it needs. Those that are cut off for long are not waited for.
  [[nodiscard]] bool enough_workers(Time now) const;

  // It has been without an answer from some server for so long that this is no delay any more.
  [[nodiscard]] bool is_cut_off(Time now, const WorkerMember& worker) const;
  // It could have got on for too long, and another worker could do what it owes.
  [[nodiscard]] bool is_stalled(Time now, const WorkerMember& worker) const;
  // No server is silent. While one is, no worker gets on.
  [[nodiscard]] bool shards_answer(Time now) const;
  // A stalled worker has let go of what others do now, or has got on with it.
  [[nodiscard]] static bool gets_on_again(Time now, const WorkerMember& worker, const WorkerBeat& beat);

  [[nodiscard]] std::string what_is_missing(Time now, const WorkerMember& worker) const;

 private:
  [[nodiscard]] std::optional<Time> could_begin(const WorkerMember& worker) const;

  const Job& job_;
  const Members& members_;
  const std::list<RoundState>& rounds_;
  Reminder reminder_;

 public:
  void serialize(auto& fields) { fields(reminder_); }
};

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

// Slots of those that are to leave now.
[[nodiscard]] std::vector<std::uint32_t> to_leave(const Members& members, const std::list<RoundState>& rounds,
                                                  Time now, const Job& job);
// Slots of those that have room again.
[[nodiscard]] std::vector<std::uint32_t> to_come_back(const Members& members, Time now);

[[nodiscard]] std::string leaves(const WorkerMember& worker);  // for people
[[nodiscard]] std::string comes_back(const WorkerMember& worker);

}  // namespace steelyard
