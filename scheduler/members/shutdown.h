// Shutdown: the phase of the job, why it ends, and which nodes still have to leave.
//
//  gathering   waits for shards and workers
//  running     trains
//  saving      the outcome is known; the last checkpoint is being written
//  stopping    Stop is repeated until all members have left: first to workers, which may pull the last
//              version, then to shards. Members that are silent for 2 s are not waited for
//  finished    sends nothing more
#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

enum class Phase { gathering, running, saving, stopping, finished };

class Shutdown {
 public:
  [[nodiscard]] Phase phase() const { return phase_; }
  [[nodiscard]] const Stop& outcome() const { return stop_; }  // final from `stopping` on

  void begin_training() { phase_ = Phase::running; }

  // Requests the end of the job, with this outcome unless another one comes first. Returns false if the end
  // was requested before: the first request counts.
  bool request(Outcome outcome, std::string text);
  [[nodiscard]] bool requested() const { return requested_; }

  // The job ends with this outcome. Until Stop is sent, a failure replaces a good outcome, but no other
  // failure. Returns false if the outcome does not change.
  bool end(Outcome outcome, std::string text);
  // Whether the servers hold a usable version after this outcome.
  [[nodiscard]] static bool leaves_model(Outcome outcome);

  // Whether there has been no worker for `timeout`, long enough for pushes in flight to close the round.
  bool left_alone(Time now, bool anybody_works, Duration timeout);

  // Sets the version that workers may pull at the end, and the worker that should save it.
  void go_home_with(const Stop& last);

  // Goes from saving to stopping. `trouble`: why the last checkpoint failed, or empty. `way_back`: how users
  // can continue after a failed worker, or empty. Returns the message for all of `members`.
  const Stop& stop(Time now, const std::string& trouble, const std::string& way_back,
                   std::set<NodeId> members);
  // The node has left. A shard counts as left only once Stop was sent to it: an earlier Goodbye is only a
  // request to end the job.
  void left(NodeId node);
  void heard(Time now) { last_word_ = now; }  // from a worker that has not left yet
  // Nodes to which Stop must be sent now. Once all have left or timed out: empty, and the phase is finished.
  std::set<NodeId> repeat_stop(Time now);

 private:
  Phase phase_ = Phase::gathering;
  Stop stop_;
  bool requested_ = false;
  std::optional<Time> alone_since_;
  Time last_word_;
  std::set<NodeId> awaited_;  // not left yet
  bool shards_told_ = false;

 public:
  void serialize(auto& fields) {
    fields(phase_, stop_, requested_, alone_since_, last_word_, awaited_, shards_told_);
  }
};

}  // namespace steelyard
