// Journaled: a scheduler that writes each message to a journal before it answers, and replay() of that
// journal by a later process.
//
// The journal is authoritative. A truncated last record is ignored: its answers were never sent. A process
// that replays a journal to its end has the same scheduler as the process that wrote it, and continues as
// after lost connections: members reconnect and resend what was not confirmed.
//
// Another thread may write the journal, and the disk may hang. The scheduler therefore continues to handle
// messages, but holds its answers until the records from which they follow have reached the journal, and the
// standby if one counts. Heartbeats (SchedulerBeat) do not wait for the journal: they follow from no record
// and change no state, and without them members would declare the scheduler lost. They do wait for the
// standby, so that members receive from one scheduler at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "protocol/journal.h"
#include "protocol/machine.h"
#include "scheduler/members/liveness.h"
#include "scheduler/recovery/standby_feed.h"
#include "scheduler/scheduler.h"

namespace steelyard {

// HeldAnswers: a queue of messages that a scheduler may not send yet, because the journal or the standby does
// not have the records from which they follow.
//
// Messages leave in order. The queue is limited; messages beyond the limit are dropped, as a link would drop
// them, and members request them again.
//
// Pure; part of a Journaled scheduler.
class HeldAnswers {
 public:
  static constexpr std::size_t usual_room = 1 << 16;  // messages: some tens of megabytes

  explicit HeldAnswers(std::size_t room = usual_room) : room_(room) {}

  // Adds messages that follow from the first `after` bytes of the journal. `after` must not decrease.
  void hold(std::vector<Envelope> messages, std::uint64_t after);
  // Sends the messages that follow from the first `have` bytes.
  void release(std::uint64_t have, Outbox& out);
  void drop_all();
  [[nodiscard]] bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::uint64_t after = 0;
    std::vector<Envelope> messages;
  };

  const std::size_t room_;
  std::size_t count_ = 0;  // messages in `held_`
  std::deque<Held> held_;
};

class Journaled {
 public:
  // Appends one record: immediately or, if Options::pending is set, later. Returns false if the journal has
  // ended.
  using Write = std::function<bool(const std::vector<std::byte>& record)>;
  // Returns the number of the latest calls of Write and Condense that are not on disk yet. May block for some
  // milliseconds. If the journal has ended but is not emptied yet, that counts as a call, too.
  using Pending = std::function<std::size_t()>;

  // Atomically replaces the journal by its head and these records. Returns false if it stays as it is.
  using Condense = std::function<bool(const std::vector<std::byte>& records)>;
  struct Options {
    StandbyFeed::Options standby{{},
                                 [] { return std::vector<std::byte>(); }};  // default: no standby may follow
    Condense condense{};                                                    // empty: the journal only grows
    std::uint64_t most = 4 << 20;  // bytes of records before it is condensed: a tenth of a second to read
    Pending pending{};             // empty: Write and Condense have written when they return
  };

  // `scheduler` outlives this.
  Journaled(Scheduler& scheduler, Write write) : Journaled(scheduler, std::move(write), Options()) {}
  Journaled(Scheduler& scheduler, Write write, Options options);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  // This process continues the job of a former one. `without_standby`: the former one had a standby, but the
  // shards have granted the job to this process (scheduler/recovery/reclaim.h).
  void restarted(Time now, bool without_standby, Outbox& out);
  [[nodiscard]] Time deadline() const {
    return std::min({scheduler_.deadline(), standby_.deadline(), look_again_});
  }
  [[nodiscard]] bool finished() const { return scheduler_.finished() || !ended().empty(); }
  // Why this process no longer leads, although the job continues under a standby; empty while it leads.
  [[nodiscard]] const std::string& ended() const { return standby_.ended(); }
  // Whether the standby leads for good; the journal records that.
  [[nodiscard]] bool superseded() const { return standby_.superseded(); }

 private:
  void write(Time now, JournalRecord::What what, Outbox& out);
  template <class Do>
  void let(Do act, Outbox& out);
  void hold(std::vector<Envelope> said, Outbox& out);
  void release(Time now, Outbox& out);
  void handed_over() {  // after the journal took record_
    if (pending_) handed_.push_back(position_ - record_.size());
  }
  [[nodiscard]] std::uint64_t journal_has();
  void look_at_standby(Time now, Outbox& out);
  void condense(Time now, Outbox& out);

  Scheduler& scheduler_;
  const Write write_;
  const Condense condense_;
  const std::uint64_t most_;
  const Pending pending_;
  StandbyFeed standby_;
  HeldAnswers held_;                  // until journal and standby have the records
  HeldAnswers beats_;                 // until the standby has the records
  std::uint64_t position_ = 0;        // bytes of records of this process
  std::deque<std::uint64_t> handed_;  // begins of records that may not be written yet
  Time look_again_ = Time::max();     // when to check the journal again
  std::uint64_t bytes_ = 0;           // of records since the journal was created or condensed
  Followed followed_;                 // as last written
  Reminder undecided_;                // while it is undecided which process leads
  bool written_superseded_ = false;
  std::vector<std::byte> record_;  // reused buffer
};

// Replays the rest of the journal into a scheduler made from its head. Calls `said` with each record and the
// answers to it. Calls `acting` with the byte offset of each record before the scheduler handles it, because
// that may crash the process. Returns the standby that counted at the end of the journal.
using Replayed = std::function<void(const JournalRecord& record, std::vector<Envelope> answers)>;
using Acting = std::function<void(std::size_t begin)>;
StandbyFeed::Follower replay(JournalReader& journal, Scheduler& scheduler, const Replayed& said,
                             const Acting& acting = {});

}  // namespace steelyard
