// ProgressMonitor: detects live workers that make no progress, and writes the notes about them.
//
// A worker is cut off if some server does not answer it. A worker is stalled if it could compute its pieces
// but makes no progress; other workers take over its pieces until it makes progress again.
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

  // Whether some server has not answered the worker for longer than heartbeat_timeout.
  [[nodiscard]] bool is_cut_off(Time now, const WorkerMember& worker) const;
  // Whether the worker has made no progress for too long, and another one could take its pieces.
  [[nodiscard]] bool is_stalled(Time now, const WorkerMember& worker) const;
  // Whether no server is silent. While one is, no worker can make progress.
  [[nodiscard]] bool shards_answer(Time now) const;
  // Whether a stalled worker has dropped the pieces that were reassigned, or makes progress with them.
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
// may be none. Its piece would then never end, and all other workers would wait for it. So it leaves the
// round
//
//  - if it has had no processor time for some seconds (scheduler/members/members.h);
//  - if its machine is crowded, and the oldest round has waited only for such workers for as long as all
//    others took, which is twice the planned time.
//
// It then gets no pieces, and other workers take over those that it owes, whole: a worker that computes
// nothing would not answer a Cut. A push that still arrives is accepted. The worker comes back when its
// machine reports room.
//
// The last working worker does not leave, and if no worker works, all come back
// (scheduler/members/members.h).

// Slots of the workers that must leave now.
[[nodiscard]] std::vector<std::uint32_t> to_leave(const Members& members, const std::list<RoundState>& rounds,
                                                  Time now, const Job& job);
// Slots of the workers that have room again.
[[nodiscard]] std::vector<std::uint32_t> to_come_back(const Members& members, Time now);

[[nodiscard]] std::string leaves(const WorkerMember& worker);  // the notes
[[nodiscard]] std::string comes_back(const WorkerMember& worker);

}  // namespace steelyard
