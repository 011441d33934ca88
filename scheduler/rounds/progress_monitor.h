// ProgressMonitor: detects live workers that make no progress, and writes the notes about them.
//
// A worker is cut off if some server does not answer it. A worker is stalled if it could compute its pieces
// but does not; other workers take them over until it makes progress again.
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

  // Before training begins: notes on what is missing, at growing intervals.
  std::vector<std::string> waiting_for(Time now);
  // Whether enough workers are ready. Workers that are cut off for too long are not waited for.
  [[nodiscard]] bool enough_workers(Time now) const;

  // Some server has not answered it for longer than heartbeat_timeout.
  [[nodiscard]] bool is_cut_off(Time now, const WorkerMember& worker) const;
  // It has made no progress for too long, and another worker could take its pieces.
  [[nodiscard]] bool is_stalled(Time now, const WorkerMember& worker) const;
  // No server is silent. While one is, no worker can make progress.
  [[nodiscard]] bool shards_answer(Time now) const;
  // A stalled worker has dropped the pieces that were reassigned, or makes progress with them.
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

// Crowding: background workers on full machines leave the round, and come back when processors are free.
//
// A background worker (worker/compute/polite.h) uses only the processor time that other programs leave, which
// may be none. Its piece would then never end, and all other workers would wait for it. So it leaves
//
//  - if it has had no processor time for some seconds (scheduler/members/members.h);
//  - if its machine is crowded, and the oldest round has waited only for such workers for as long as all
//    others took: twice the planned time.
//
// It then gets no pieces, and other workers take over those it owes. They are not cut (Cut, of hand-over),
// because a worker that computes nothing handles no Cut. Its push is still accepted if it arrives. When the
// worker comes back its shares are not a risky trial, because its machine has reported that it has room.
//
// One worker always works: the last one does not leave, and when no other is left, all come back
// (scheduler/members/members.h).

// Slots of the workers that must leave now.
[[nodiscard]] std::vector<std::uint32_t> to_leave(const Members& members, const std::list<RoundState>& rounds,
                                                  Time now, const Job& job);
// Slots of the workers that have room again.
[[nodiscard]] std::vector<std::uint32_t> to_come_back(const Members& members, Time now);

[[nodiscard]] std::string leaves(const WorkerMember& worker);  // the notes
[[nodiscard]] std::string comes_back(const WorkerMember& worker);

}  // namespace steelyard
