// Standby: has the journal of a scheduler on another machine, and is to lead when that one is lost.
//
// It follows: what comes of the journal is written down and confirmed. Once the journal says that it counts
// (protocol/journal.h: Followed), it claims the job as soon as the scheduler is silent for too long. When the
// shard that decides has granted that (scheduler/recovery/standby_feed.h), it leads: whoever owns it makes a
// scheduler of the journal, as after a kill (scheduler/recovery/journaled.h). If the scheduler was first, it
// follows anew.
//
// Times in the journal are told on this machine's clock.
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
    NodeId node;  // the shard that decides
    std::string endpoint;
    std::uint64_t generation = 0;  // of the scheduler that this standby follows
  };
  struct Options {
    std::string build;
    std::uint64_t attempt = 0;                        // the first; drawn at random
    Duration wait = std::chrono::seconds(60);         // for a scheduler that answers, or a shard that decides
    std::function<void()> begin;                      // a journal begins: what there was of another goes
    std::function<void(const JournalRecord&)> write;  // behind those before
    // As the journal says (arbiter_in()); nothing: no shard had been asked to decide, or that one is gone.
    std::function<std::optional<Place>()> arbiter;
  };
  explicit Standby(Options options);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  [[nodiscard]] Time deadline() const { return next_; }
  [[nodiscard]] bool finished() const { return leads_ || exit_reason_.reached(); }

  [[nodiscard]] bool leads() const { return leads_; }
  [[nodiscard]] bool counts() const { return counted_.has_value(); }
  // Why it does not lead and never will.
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
  std::uint64_t attempt_;                 // of this following, or of the next
  std::optional<std::uint64_t> counted_;  // the attempt under which it counts
  bool following_ = false;
  bool leads_ = false;
  Duration ahead_{};            // of our clock, of the scheduler's
  std::uint64_t have_ = 0;      // bytes of the journal
  std::vector<std::byte> cut_;  // the beginning of a record
  Term term_ = 0;               // of the job
  Duration silence_{};          // of the scheduler, that is borne
  std::optional<Place> claimed_from_;
  Time heard_{}, next_{};  // heard_: the scheduler, or when the claim began
};

// The shard that a standby with this journal may ask, and what the journal says of the scheduler.
std::optional<Standby::Place> arbiter_in(const StandbyFeed::Follower& follower, const Members& members);

}  // namespace steelyard
