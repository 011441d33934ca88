// Shutdown: the phase of the job, why it ends, and which nodes have still to leave.
//
//  gathering   waits for shards and workers
//  running     trains
//  saving      the outcome is known; the last checkpoint is being written
//  stopping    Stop is repeated until all have left: to workers first, since they may pull the last version,
//              then to shards. Whoever is silent for 2 s is not waited for
//  finished    nothing more is said
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
  [[nodiscard]] const Stop& outcome() const { return stop_; }  // as far as it is known

  void begin_training() { phase_ = Phase::running; }

  // The job is to end, or nothing is waited for any more. False: it was asked before.
  bool request() { return !std::exchange(requested_, true); }
  [[nodiscard]] bool requested() const { return requested_; }

  // The job ends. The first failure stands; until Stop is said, it replaces a good ending. False: the outcome
  // stays as it was.
  bool end(Outcome outcome, std::string text);
  // Whether the servers hold a sound version after such an ending.
  [[nodiscard]] static bool leaves_model(Outcome outcome);

  // Whether no worker has been there for `timeout`: pushes on their way have had the time to close the round.
  bool left_alone(Time now, bool anybody_works, Duration timeout);

  // What workers may take home: the version and its keeper.
  void go_home_with(const Stop& last);

  // All is saved: from saving to stopping. `trouble`: why the last checkpoint failed, or empty.
  // `way_back`: what to do after a failed worker, or empty. Returns what all of `members` are told.
  const Stop& stop(Time now, const std::string& trouble, const std::string& way_back,
                   std::set<NodeId> members);
  // A shard that says so before it was told the end only asks for it.
  void left(NodeId node);
  void heard(Time now) { last_word_ = now; }  // a worker that has still to leave
  // Nodes that are to get Stop now. Empty once all have left or time is up; then it is finished.
  std::set<NodeId> repeat_stop(Time now);

 private:
  Phase phase_ = Phase::gathering;
  Stop stop_;
  bool requested_ = false;
  std::optional<Time> alone_since_;
  Time last_word_;
  std::set<NodeId> awaited_;  // nodes that have not left yet
  bool shards_told_ = false;

 public:
  void serialize(auto& fields) {
    fields(phase_, stop_, requested_, alone_since_, last_word_, awaited_, shards_told_);
  }
};

}  // namespace steelyard
