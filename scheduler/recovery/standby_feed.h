// StandbyFeed: the scheduler's side of its connection to a standby.
//
// It sends the journal to a standby (scheduler/recovery/standby.h). While the standby counts, a message of
// the scheduler leaves only after the standby has the records from which it follows (missing(); a Journaled
// scheduler holds the messages). So the standby could have sent every message that members received from this
// scheduler. Either of the two may be lost; a shard, the arbiter, grants the job to the first one that claims
// it.
//
//   state      event                                   next       action
//   alone      Follow                                  copying    sends the journal from its first byte
//   copying    another Follow of the same standby      copying    likewise
//   copying    it has all, and the arbiter confirms    counting   the journal records both
//   copying    it is lost                              alone
//   counting   another shard is in the last slot       counting   that one confirms, the journal records it
//   counting   it is lost, or sends another Follow     claiming   claims the job; no message leaves
//   claiming   all arbiters grant, or none exists      alone      the journal records: no standby
//   claiming   a shard refuses: the standby leads      ended      superseded(); this process exits
//   claiming   no grant within Options::wait           ended      this process exits
//
// The Follow of a second standby is refused; in the states claiming and ended it gets no answer.
//
// "It" is the standby. It is lost if its connection closes, if it confirms nothing for too long, or if the
// journal has ended.
//
// The arbiter is the shard in the last slot, which may change. The standby learns of a new arbiter with a
// delay, and may have received more than it has confirmed. So the scheduler needs the grant of every shard
// that the standby may ask. It also asks all other shards, because one that knows of a later leader refuses.
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
    // The whole journal. Empty if it has ended; std::nullopt if it is not read yet (the standby asks again).
    std::function<std::optional<std::vector<std::byte>>()> journal;
    Duration wait = std::chrono::seconds(60);  // timeout of a claim
  };
  // The standby that counted when a process was killed.
  struct Follower {
    std::uint64_t attempt = 0;     // 0: no standby counted
    std::vector<NodeId> arbiters;  // that it may ask; as last confirmed, it asks the last
    bool superseded = false;       // it leads, and the process that it followed never leads again
  };
  StandbyFeed(Term term, Options options);

  // Returns true if the message was for the feed, and not for the scheduler.
  bool hear(Time now, const Envelope& in, Outbox& out);
  // One more record was written to the journal.
  void written(Time now, const std::vector<std::byte>& record, Outbox& out);
  // `members`: of the job, and the generation of this scheduler.
  void wake(Time now, const Members& members, Outbox& out);
  void journal_ended(Time now) { lose(now); }
  // Sends Stop to the standby, because the job has ended.
  void end(const Stop& stop, Outbox& out);
  [[nodiscard]] Time deadline() const;

  // Which standby counts now and which shard it may ask, after each change; the caller must write it to the
  // journal at once.
  std::optional<Followed> take_change() { return std::exchange(change_, std::nullopt); }
  enum class State : std::uint8_t { alone, copying, counting, claiming, ended };
  [[nodiscard]] State state() const { return state_; }
  // The number of bytes at the end of the journal that the standby that counts has not confirmed; answers
  // wait for them. std::nullopt if no answer may leave, because the two have lost each other.
  [[nodiscard]] std::optional<std::uint64_t> missing() const {
    if (state_ >= State::claiming) return std::nullopt;
    return state_ == State::counting ? unconfirmed_.size() : 0;
  }
  // Whether no claim is under way, and a standby that counts has confirmed its only arbiter.
  [[nodiscard]] bool is_settled() const {
    return state_ != State::claiming && arbiters_.size() <= 1 && !change_;
  }
  // Why this process sends nothing more: the standby leads, or this cannot be decided. Empty: it continues.
  [[nodiscard]] const std::string& ended() const { return ended_; }
  // The standby leads, and this process never leads again.
  [[nodiscard]] bool superseded() const { return superseded_; }

 private:
  struct Arbiter {
    NodeId node;
    std::uint64_t below = 0;  // bytes of the journal that name it
  };
  struct Candidate {  // the next arbiter
    NodeId node;
    bool authorised = false;      // it has confirmed
    std::optional<Time> asked{};  // when it was last asked to confirm
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
  [[nodiscard]] Time answers_until() const;  // after this time, a standby without an answer is lost
  [[nodiscard]] std::uint64_t end_of_journal() const { return below_ + unconfirmed_.size(); }

  const Term term_;
  const Options options_;
  State state_ = State::alone;
  Time since_;  // of the oldest unconfirmed part or the last answer; start of the claim
  std::optional<Followed> change_;

  // The standby that receives the journal; the attempt is also that of a later claim.
  NodeId standby_;
  std::uint64_t attempt_ = 0;
  std::uint64_t sent_ = 0, below_ = 0;  // bytes of the journal: sent, and confirmed
  std::vector<std::byte> unconfirmed_;  // the bytes from below_ on
  Duration slowest_{};                  // slowest answer
  bool looked_ = false;                 // candidate_ has been determined

  // The shards that the standby may ask; the first is the last that it has confirmed. Empty if there was no
  // shard yet. During a claim: those that have not granted it.
  std::deque<Arbiter> arbiters_;
  std::optional<Candidate> candidate_;  // std::nullopt if the shard in the last slot is the latest arbiter

  Time next_claim_;
  std::vector<NodeId> others_;  // other shards asked during a claim: one that knows of a later leader refuses
  std::string ended_;
  bool superseded_ = false;
};

}  // namespace steelyard
