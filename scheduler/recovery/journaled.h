// Journaled: a scheduler that has what it hears written down before it answers, and how a later process makes
// the same one of that.
//
// What was written is what counts: of a record that was cut short the answers were not sent. Whoever reads a
// journal to its end has the scheduler that wrote it, and goes on as after lost connections: members come
// back and say again what is not confirmed.
//
// The journal may be written by another thread, and a disk may hang. So the scheduler goes on with what it
// hears, and its answers are held until the journal, and a standby that counts, have the records that they
// follow from. Only heartbeats (SchedulerBeat) do not wait for the journal: they carry nothing but the job's
// term, follow from no record, and change nothing that a later process would have to know. Without them
// members would take the scheduler for lost. They wait for the standby as answers do, so that members hear
// from one scheduler at a time.
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

// HeldAnswers: messages of a scheduler that may not leave its process yet, because the records of the journal
// that they follow from are not everywhere where they have to be.
//
// Positions are bytes of the journal. Messages leave in the order in which they came. There is room for a
// limited number of messages. The class drops what comes beyond, as a line drops what its receiver does not
// take: members ask again for everything that they miss.
//
// Pure; part of a Journaled scheduler.
class HeldAnswers {
 public:
  static constexpr std::size_t usual_room = 1 << 16;  // messages: some tens of megabytes

  explicit HeldAnswers(std::size_t room = usual_room) : room_(room) {}

  // These follow from the first `after` bytes of the journal, which never becomes less.
  void hold(std::vector<Envelope> messages, std::uint64_t after);
  // Those that follow from the first `have` bytes leave.
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
  // Writes the bytes of one record behind those before: at once or, where there is a Pending, soon. False:
  // the journal has ended.
  using Write = std::function<bool(const std::vector<std::byte>& record)>;
  // Of all that Write and Condense took, in that order: how many are not written yet. It may wait for some
  // milliseconds. Where an ended journal still has to be emptied, it counts until that is done.
  using Pending = std::function<std::size_t()>;

  // Begins it anew: behind its head there are these records and no others, and at no moment less than what
  // counts. False: it goes on as it is.
  using Condense = std::function<bool(const std::vector<std::byte>& records)>;
  struct Options {
    StandbyFeed::Options standby{{}, [] { return std::vector<std::byte>(); }};  // none may follow it
    Condense condense{};           // nothing: the journal only grows
    std::uint64_t most = 4 << 20;  // bytes of records, before it begins anew: a tenth of a second to read
    Pending pending{};             // nothing: Write and Condense have written when they return
  };

  // `scheduler` outlives this.
  Journaled(Scheduler& scheduler, Write write) : Journaled(scheduler, std::move(write), Options()) {}
  Journaled(Scheduler& scheduler, Write write, Options options);

  void step(Time now, const Envelope& in, Outbox& out);
  void wake(Time now, Outbox& out);
  // This process goes on where another one ended. `without_standby`: that one had a standby, and shards have
  // granted the job to this one (scheduler/recovery/reclaim.h).
  void restarted(Time now, bool without_standby, Outbox& out);
  [[nodiscard]] Time deadline() const {
    return std::min({scheduler_.deadline(), standby_.deadline(), look_again_});
  }
  [[nodiscard]] bool finished() const { return scheduler_.finished() || !ended().empty(); }
  // Why nothing that is said here counts any more, though the job goes on: a standby leads it.
  [[nodiscard]] const std::string& ended() const { return standby_.ended(); }
  // Likewise for good, which is written down.
  [[nodiscard]] bool superseded() const { return standby_.superseded(); }

 private:
  void write(Time now, JournalRecord::What what, Outbox& out);
  template <class Do>
  void let(Do act, Outbox& out);
  void hold(std::vector<Envelope> said, Outbox& out);
  void release(Time now, Outbox& out);
  void handed_over() {  // whatever the journal took last
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
  HeldAnswers beats_;                 // until the standby has them
  std::uint64_t position_ = 0;        // bytes of records so far, of this process
  std::deque<std::uint64_t> handed_;  // where records begin that may not be written yet
  Time look_again_ = Time::max();     // at the journal
  std::uint64_t bytes_ = 0;           // written since it began
  Followed followed_;                 // as was told
  Reminder undecided_;                // whether this process leads
  bool written_superseded_ = false;
  std::vector<std::byte> record_;  // memory for the next
};

// All that is left in the journal, said to a scheduler made of its head. `said` gets the answers to each.
// `acting` gets the place of each record, in bytes, before the scheduler acts on it: it may end the process.
// Returns the standby that counted at its end.
using Replayed = std::function<void(const JournalRecord& record, std::vector<Envelope> answers)>;
using Acting = std::function<void(std::size_t begin)>;
StandbyFeed::Follower replay(JournalReader& journal, Scheduler& scheduler, const Replayed& said,
                             const Acting& acting = {});

}  // namespace steelyard
