// StandbyFeed: a scheduler's standby, as the scheduler's process sees it.
//
// A standby (scheduler/recovery/standby.h) is sent the journal. While it counts, nothing that the scheduler
// sends leaves before the standby has the records that it follows from (missing(); a Journaled scheduler
// holds the messages). So whatever a member has received from this scheduler, the standby would have sent as
// well. Of the two, one may be lost; a shard, the arbiter, grants the job to the first of them that claims
// it.
//
//   state      event                                   next       action
//   alone      Follow                                  copying    sends the journal from its first byte
//   copying    Follow of the same standby, anew        copying    likewise
//   copying    it has all, and the arbiter confirms    counting   the journal names both
//   copying    it is lost                              alone
//   counting   another shard is in the last slot       counting   that one confirms, the journal names it
//   counting   it is lost, or has to follow anew       claiming   claims the job; no message leaves
//   claiming   all arbiters grant, or there are none   alone      the journal says that none follows
//   claiming   a shard refuses: the standby leads      ended      superseded(); this process exits
//   claiming   no grant within Options::wait           ended      this process exits
//
// The Follow of another standby is refused, and not answered from claiming on.
//
// "Lost": its connection closed, it confirms nothing for too long, or the journal has ended.
//
// The arbiter is the shard in the last slot, which may change. The standby learns of a new one a moment
// later, and may have received more than it has confirmed: a scheduler needs the grant of every shard that
// its standby may ask. It asks all others too, since each of them refuses if it knows of a later leader.
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
  void journal_ended(Time now) { lose(now); }
  // The job has ended.
  void end(const Stop& stop, Outbox& out);
  [[nodiscard]] Time deadline() const;

  // Which standby counts now and which shard it may ask, each time that this has changed: to be written down
  // at once.
  std::optional<Followed> take_change() { return std::exchange(change_, std::nullopt); }
  enum class State : std::uint8_t { alone, copying, counting, claiming, ended };
  [[nodiscard]] State state() const { return state_; }
  // The last bytes of the journal that answers have to wait for, because the standby that counts has not
  // confirmed them. Nothing: no answer may leave, for the two have lost one another.
  [[nodiscard]] std::optional<std::uint64_t> missing() const {
    if (state_ >= State::claiming) return std::nullopt;
    return state_ == State::counting ? unconfirmed_.size() : 0;
  }
  // Nothing is claimed, and a standby that counts knows whom to ask.
  [[nodiscard]] bool is_settled() const {
    return state_ != State::claiming && arbiters_.size() <= 1 && !change_;
  }
  // Why this process says nothing more: the standby leads, or nobody knows whether it does. Empty: it goes
  // on.
  [[nodiscard]] const std::string& ended() const { return ended_; }
  // The standby leads: this process never does again.
  [[nodiscard]] bool superseded() const { return superseded_; }

 private:
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
  void handle(Time now, NodeId from, const Arbitrates& confirmed, Outbox& out);
  void handle(Time now, NodeId from, const LeaderGrant& granted, Outbox& out);
  void look_at_arbiter(Time now, const Members& members, Outbox& out);
  void claim(Time now, const Members& members, Outbox& out);
  void count_if_ready();
  void name_arbiter(NodeId arbiter) { change_ = Followed{attempt_, arbiter}; }
  void lose(Time now);
  void send_parts(Time now, Outbox& out);
  void go_on_alone();
  void end(const char* why);
  [[nodiscard]] bool has_standby() const { return state_ == State::copying || state_ == State::counting; }
  [[nodiscard]] Time answers_until() const;  // a standby that does not is lost
  [[nodiscard]] std::uint64_t end_of_journal() const { return below_ + unconfirmed_.size(); }

  const Term term_;
  const Options options_;
  State state_ = State::alone;
  Time since_;  // something is under way to the standby, or its last answer; when the claim began
  std::optional<Followed> change_;

  // The standby that is sent the journal; the attempt is claimed afterwards.
  NodeId standby_;
  std::uint64_t attempt_ = 0;
  std::uint64_t sent_ = 0, below_ = 0;  // bytes of the journal; it has confirmed those below
  std::vector<std::byte> unconfirmed_;  // those behind them
  Duration slowest_{};                  // answer
  bool looked_ = false;                 // whether there is a shard that could decide

  // Those that the standby may ask, of which the first is the last that it has confirmed. None: there was no
  // shard yet. While the job is claimed, those that have not granted it.
  std::deque<Arbiter> arbiters_;
  std::optional<Candidate> candidate_;  // nothing: the shard in the last slot is the latest arbiter

  Time next_claim_;
  std::vector<NodeId> others_;  // shards that are asked too: one that knows of a later leader refuses
  std::string ended_;
  bool superseded_ = false;
};

}  // namespace steelyard
