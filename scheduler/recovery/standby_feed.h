// StandbyFeed: a scheduler's standby, as the scheduler's process sees it.
//
// A standby (scheduler/recovery/standby.h) is sent the journal. When it has all of it, and the shard in the
// last slot has confirmed that it decides between the two (Arbitrate), the standby counts: from then on
// nothing that the scheduler sends leaves before the standby has the records that it follows from (missing();
// a Journaled scheduler holds the messages). So whatever a member has received from this scheduler, the
// standby would have sent as well.
//
// Of the two, one may be lost. The one that misses the other claims the job from that shard, which grants it
// to the first claimant: to the scheduler, which goes on alone, or to the standby, which leads. Until then a
// scheduler whose standby is silent sends nothing. The process whose claim is refused exits.
//
// The shard in the last slot may change. The new one confirms that it decides, the journal names it, and the
// standby learns of it a moment later. The standby may have received more than it has confirmed: a scheduler
// needs the grant of every shard that its standby may ask. It asks all others too, since each of them refuses
// if it knows of a later leader.
//
// Pure; part of a Journaled scheduler.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocol/journal.h"
#include "protocol/machine.h"
#include "scheduler/members/members.h"

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
    std::vector<NodeId> arbiters;  // that it may ask; by its latest word it asks the last
    bool superseded = false;       // it leads, and the process that had it never does again
  };
  StandbyFeed(Term term, Options options);

  // Whether this was said to it, and not to the scheduler.
  bool hear(Time now, const Envelope& in, Outbox& out);
  // One more record is in the journal.
  void written(Time now, const std::vector<std::byte>& record, Outbox& out);
  // `members`: of the job, and the generation of this scheduler.
  void wake(Time now, const Members& members, Outbox& out);
  void journal_ended() {
    if (copy_) lose(copy_->node);
  }
  // The job has ended.
  void end(const Stop& stop, Outbox& out);
  [[nodiscard]] Time deadline() const;

  // Which standby counts now and which shard it may ask, each time that this has changed: to be written down
  // at once.
  std::optional<Followed> take_change() { return std::exchange(change_, std::nullopt); }
  [[nodiscard]] bool counts() const { return copy_ && copy_->counts; }
  [[nodiscard]] bool waits() const { return claim_.has_value(); }
  // The last bytes of the journal that answers have to wait for, because the standby that counts has not
  // confirmed them. Nothing: no answer may leave, for the two have lost one another.
  [[nodiscard]] std::optional<std::uint64_t> missing() const {
    if (claim_ || !ended_.empty()) return std::nullopt;
    return counts() ? unconfirmed_.size() : 0;
  }
  // Nothing is claimed, and a standby that counts knows whom to ask.
  [[nodiscard]] bool is_settled() const { return !claim_ && arbiters_.size() <= 1 && !change_; }
  // Why this process says nothing more: the standby leads, or nobody knows whether it does. Empty: it goes
  // on.
  [[nodiscard]] const std::string& ended() const { return ended_; }
  // The standby leads: this process never does again.
  [[nodiscard]] bool superseded() const { return superseded_; }

 private:
  struct Copy {
    NodeId node;
    std::uint64_t attempt = 0;
    bool looked = false;  // whether there is a shard that could decide
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
    std::uint64_t below = 0;  // bytes of the journal that name it
  };
  struct Candidate {  // to be the arbiter
    NodeId node;
    bool authorised = false;      // it has confirmed that
    std::optional<Time> asked{};  // to confirm it
  };

  void handle(Time now, NodeId from, const Follow& follow, Outbox& out);
  void handle(Time now, NodeId from, const JournalAck& ack, Outbox& out);
  void handle(NodeId from, const Arbitrates& confirmed);
  void handle(NodeId from, const Granted& granted);
  void look_at_arbiter(Time now, const Members& members, Outbox& out);
  void claim(const Members& members, Outbox& out);
  void count_if_ready();
  void change(NodeId arbiter) { change_ = Followed{copy_->attempt, arbiter}; }
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
  std::optional<Candidate> candidate_;  // nothing: the shard in the last slot is the latest arbiter
  std::vector<NodeId> others_;          // shards that are asked too: one that knows of a later leader refuses
  std::string ended_;
  bool superseded_ = false;
  std::uint64_t before_ = 0;            // bytes of the journal that the standby has
  std::vector<std::byte> unconfirmed_;  // and those behind them
  std::optional<Followed> change_;
};

}  // namespace steelyard
