// Standby: keeps a copy of the journal of a scheduler on another machine, and leads if that scheduler is
// lost.
//
// While it follows, it writes and confirms the received parts of the journal. It counts once the journal says
// so (protocol/journal.h: Followed); from then on, if the scheduler is silent for too long, it claims the
// job. If the arbiter grants the claim (scheduler/recovery/standby_feed.h), it leads: its owner replays the
// journal into a scheduler, as after a kill (scheduler/recovery/journaled.h). If the scheduler's claim came
// first, it follows again from the start.
//
// Times in the journal are converted to this machine's clock.
//
// Pure. Owned and used by one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/journal.h"
#include "protocol/machine.h"
#include "protocol/terms.h"
#include "scheduler/recovery/standby_feed.h"

namespace steelyard {

class Standby {
 public:
  struct Place {
    NodeId node;  // the arbiter, a shard
    std::string endpoint;
    std::uint64_t generation = 0;  // of the scheduler that this standby follows
  };
  struct Options {
    std::string build;
    std::uint64_t attempt = 0;                        // the first attempt; drawn at random
    Duration wait = std::chrono::seconds(60);         // timeout of the scheduler, and of the arbiter
    std::function<void()> begin;                      // drops the former journal; a new one begins
    std::function<void(const JournalRecord&)> write;  // appends a record
    // The arbiter in the journal (arbiter_in()); std::nullopt if there was none, or it is lost.
    std::function<std::optional<Place>()> arbiter;
  };
  explicit Standby(Options options);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return next_; }
  [[nodiscard]] bool finished() const { return leads_ || exit_reason_.reached(); }

  [[nodiscard]] bool leads() const { return leads_; }
  [[nodiscard]] bool counts() const { return counted_.has_value(); }
  // Why it has finished without leading.
  [[nodiscard]] const ExitReason& exit_reason() const { return exit_reason_; }

 private:
  void handle(Time now, const Following& following);
  void handle(const JournalPart& part, Outbox& out);
  void handle(Time now, NodeId from, const LeaderGrant& granted, Outbox& out);
  bool take_records();
  void claim(Time now, Outbox& out);
  void follow_anew();

  const Options options_;
  ExitReason exit_reason_;
  std::uint64_t attempt_;                 // the current attempt to follow, or the next one
  std::optional<std::uint64_t> counted_;  // the attempt under which it counts
  bool following_ = false;
  bool leads_ = false;
  Duration ahead_{};            // this clock minus the scheduler's
  std::uint64_t have_ = 0;      // bytes of the journal received
  std::vector<std::byte> cut_;  // an incomplete record
  Term term_ = 0;               // of the job
  Duration silence_{};          // of the scheduler, after which the job is claimed
  std::optional<Place> claimed_from_;
  Time heard_{}, next_{};  // heard_: last message of the scheduler, or start of the claim
};

// The arbiter for a standby with this journal, and the generation of its scheduler; std::nullopt if there is
// no such shard.
std::optional<Standby::Place> arbiter_in(const StandbyFeed::Follower& follower, const Members& members);

}  // namespace steelyard
