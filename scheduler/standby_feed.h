// StandbyFeed: a scheduler's standby, as the scheduler's process sees it.
//
// A standby (scheduler/standby.h) is sent the journal. When it has all of it, it counts: from then on nothing
// that the scheduler says leaves before the standby has the records that it follows from (missing(), and
// scheduler/journaled.h, which holds the messages). So whatever anybody has heard from this scheduler, its
// standby would have said as well.
//
// Of the two, one may be lost. Who misses the other claims the job from the shard in the last slot, which
// grants it to the first of them: to the scheduler, which goes on alone, or to the standby, which leads.
// Until then a scheduler whose standby is silent says nothing. Who is refused ends.
//
// Which shard that is may change, and the standby learns of it a moment later. What it has confirmed last it
// may also have been told since: a scheduler needs the word of every shard that its standby may ask.
//
// Pure; part of a Journaled scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "wire/machine.h"

namespace steelyard {

class StandbyFeed {
 public:
  struct Options {
    std::string build;  // of this program
    // All that is written; empty: it has ended; nothing: it is not read yet, and the standby asks again.
    std::function<std::optional<std::vector<std::byte>>()> journal;
    Duration wait = std::chrono::seconds(60);  // for a shard that decides
  };
  // The standby that counted when a process was killed.
  struct Follower {
    std::uint64_t attempt = 0;     // 0: there was none
    std::vector<NodeId> arbiters;  // that it may ask
  };
  StandbyFeed(Term term, Options options);

  // Of the one that the process before this one had: the job has to be claimed before anything is said.
  void restarted(const Follower& follower);
  // Whether this was said to it, and not to the scheduler.
  bool hear(Time now, const Envelope& in, Outbox& out);
  // One more record is in the journal.
  void written(Time now, const std::vector<std::byte>& record, Outbox& out);
  // `arbiter`: the shard in the last slot; nothing: there is none yet.
  void wake(Time now, std::optional<NodeId> arbiter, Outbox& out);
  void journal_ended() {
    if (copy_) lose(copy_->node);
  }
  // The job has ended.
  void end(const Stop& stop, Outbox& out);
  [[nodiscard]] Time deadline() const;

  // Who counts now, each time that this has changed: to be written down. 0: nobody.
  std::optional<std::uint64_t> take_change() { return std::exchange(change_, std::nullopt); }
  [[nodiscard]] bool counts() const { return copy_ && copy_->counts; }
  [[nodiscard]] bool waits() const { return claim_.has_value(); }
  // The last bytes of the journal that answers have to wait for, because the standby that counts has not
  // confirmed them. Nothing: no answer may leave, for the two have lost one another.
  [[nodiscard]] std::optional<std::uint64_t> missing() const {
    if (claim_ || !ended_.empty()) return std::nullopt;
    return counts() ? unconfirmed_.size() : 0;
  }
  // Nothing is claimed, and a standby that counts knows whom to ask.
  [[nodiscard]] bool is_settled() const { return !claim_ && arbiters_.size() <= 1; }
  // Why this process says nothing more: the standby leads, or nobody knows whether it does. Empty: it goes
  // on.
  [[nodiscard]] const std::string& ended() const { return ended_; }

 private:
  struct Copy {
    NodeId node;
    std::uint64_t attempt = 0;
    bool counts = false;
    std::uint64_t sent = 0, below = 0;  // bytes of the journal
    Time asked;                         // since when something is under way, or when it last answered
    Duration slowest{};                 // answer
  };
  struct Claiming {
    std::uint64_t attempt = 0;
    Time next{};                  // when it is said again
    std::optional<Time> since{};  // when it was said first
  };
  struct Arbiter {
    NodeId node;
    std::uint64_t below = 0;  // bytes of the journal that say so
  };

  void handle(Time now, NodeId from, const Follow& follow, Outbox& out);
  void handle(Time now, NodeId from, const JournalAck& ack, Outbox& out);
  void handle(NodeId from, const Granted& granted);
  void look_at_arbiter(std::optional<NodeId> now);
  void lose(NodeId node);
  void send_parts(Time now, Outbox& out);
  void go_on_alone();
  void end(const char* why);
  [[nodiscard]] std::uint64_t end_of_journal() const { return before_ + unconfirmed_.size(); }

  const Term term_;
  const Options options_;
  std::optional<Copy> copy_;
  std::optional<Claiming> claim_;
  // Those that the standby may ask, of which the first is the last that it has confirmed. None: there was no
  // shard yet. While the job is claimed, those that have not granted it.
  std::deque<Arbiter> arbiters_;
  std::string ended_;
  std::uint64_t before_ = 0;            // bytes of the journal that the standby has
  std::vector<std::byte> unconfirmed_;  // and those behind them
  std::optional<std::uint64_t> change_;
};

}  // namespace steelyard
