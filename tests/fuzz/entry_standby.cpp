#include <map>
#include <set>

#include "core/check.h"
#include "protocol/journal.h"
#include "scheduler/recovery/journaled.h"
#include "scheduler/recovery/standby.h"
#include "scheduler/recovery/standby_feed.h"
#include "tests/fuzz/entry.h"
#include "tests/fuzz/message_list.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::fuzz {
namespace {

using test::heard;

constexpr NodeId standby_node{Role::standby, 5}, other_standby{Role::standby, 6}, arbiter{Role::shard, 2},
    its_mirror{Role::shard, 4};
constexpr std::uint64_t first_attempt = 7;

// The byte before each message: its sender and the events before it.
enum Before : unsigned { sender = 3, later = 0x10, moved = 0x20, lost = 0x40 };

template <class Receiver, class Content>
void put(std::vector<std::byte>& messages, unsigned before, Content message) {
  messages.push_back(static_cast<std::byte>(before));
  fuzz::put(messages, Message(std::in_place_type<Receiver>, std::move(message)));
}

unsigned take_before(std::span<const std::byte>& messages) {
  const auto before = std::to_integer<unsigned>(messages[0]);
  messages = messages.subspan(1);
  return before;
}

// A standby, with checks of what its scheduler relies on.
class Follower {
 public:
  void deliver(Time now, NodeId from, const Message& message) {
    Outbox out(standby_node);
    standby_.wake(now, out);
    for (const LeaderClaim& it : heard<LeaderClaim>(out.take())) claimed_ = it.attempt;
    if (standby_.finished()) return;
    standby_.step(now, {from, standby_node, message}, out);
    const auto& content = std::get<ToStandby>(message);
    if (const auto acks = heard<JournalAck>(out.take()); !acks.empty())
      confirmed(std::get<JournalPart>(content), acks.at(0));
    if (!standby_.leads()) return;
    const auto* granted = std::get_if<LeaderGrant>(&content);
    CHECK(granted != nullptr && granted->granted && from == arbiter, "the standby leads without a grant");
    CHECK(claimed_ == granted->attempt, "the standby leads without a claim");
  }
  [[nodiscard]] bool leads() const { return standby_.leads(); }

 private:
  void confirmed(const JournalPart& part, const JournalAck& ack) {
    CHECK(part.begin == stream_.size() && !claimed_, "an acknowledged part does not follow the previous one");
    const auto bytes = std::as_bytes(std::span(part.bytes));
    stream_.insert(stream_.end(), bytes.begin(), bytes.end());
    CHECK(ack.below == stream_.size(), "the standby acknowledges bytes that it lacks");
    JournalReader reader(stream_);
    std::size_t records = 0;
    while (reader.next()) ++records;
    CHECK(records == written_ && !reader.damaged(),
          "the standby acknowledges records that it has not written");
  }

  std::vector<std::byte> stream_;
  std::size_t written_ = 0;
  std::optional<std::uint64_t> claimed_;
  Standby standby_{{"build", first_attempt, from_seconds(60),
                    [this] {
                      stream_.clear();
                      written_ = 0;
                      claimed_.reset();
                    },
                    [this](const JournalRecord&) { ++written_; },
                    [] {
                      return std::optional(Standby::Place{arbiter, "tcp://shard"});
                    }}};
};

// A scheduler that writes a record and sends one answer after each message of its standby.
class Leader {
 public:
  void deliver(Time now, unsigned before, const std::optional<Message>& message) {
    constexpr std::array from{standby_node, other_standby, arbiter, its_mirror};
    Outbox out(scheduler_node);
    ShardMember decides;
    decides.node = (before & moved) != 0 ? its_mirror : arbiter;
    Members members;
    members.shards.emplace(0, decides);
    feed_.wake(now, members, out);
    if ((before & lost) != 0) deliver(now, link_node, Message(ToScheduler(Disconnected{standby_node})), out);
    if (message) deliver(now, from[before & sender], *message, out);
    if (feed_.take_change()) write(now, out);
    write(now, out);
    send_answer(out);
    check(out.take());
    counted_ = counted_ || is(StandbyFeed::State::counting);
  }
  [[nodiscard]] bool counted() const { return counted_; }

 private:
  [[nodiscard]] bool is(StandbyFeed::State state) const { return feed_.state() == state; }
  void deliver(Time now, NodeId from, const Message& message, Outbox& out) {
    const auto& content = std::get<ToScheduler>(message);
    const bool waited = is(StandbyFeed::State::claiming);
    if (const auto* ack = std::get_if<JournalAck>(&content)) {
      if (from == copy_ && ack->attempt == attempt_ && ack->below <= sent_)
        confirmed_ = std::max(confirmed_, ack->below);
    }
    feed_.hear(now, {from, scheduler_node, message}, out);
    const auto* granted = std::get_if<LeaderGrant>(&content);
    CHECK(!waited || is(StandbyFeed::State::claiming) || granted != nullptr,
          "the scheduler stops waiting without an answer");
    if (waited && !is(StandbyFeed::State::claiming) && feed_.ended().empty()) {
      CHECK(granted->granted, "the scheduler continues without a grant");
      alone_from_ = held_.size();
    }
  }
  void write(Time now, Outbox& out) {
    const std::vector<std::byte> record(10, static_cast<std::byte>(journal_.size()));
    journal_.insert(journal_.end(), record.begin(), record.end());
    feed_.written(now, record, out);
  }
  void send_answer(Outbox& out) {
    Outbox answer(scheduler_node);
    answer.send<ToWorker>({Role::worker, 3}, VersionExpired{held_.size(), 0});
    held_.push_back(is(StandbyFeed::State::counting) || is(StandbyFeed::State::claiming) ? journal_.size()
                                                                                         : 0);
    answers_.hold(answer.take(), journal_.size());
    if (!feed_.ended().empty()) answers_.drop_all();
    if (const auto missing = feed_.missing()) answers_.release(journal_.size() - *missing, out);
  }
  void check(const std::vector<Envelope>& left) {
    for (const Envelope& it : left) {
      for (const Following& answer : heard<Following>({it})) {
        if (!answer.refusal.empty()) continue;
        copy_ = it.to;
        attempt_ = answer.attempt;
        sent_ = 0;
        confirmed_ = 0;
      }
      for (const JournalPart& part : heard<JournalPart>({it})) {
        const auto bytes = std::as_bytes(std::span(part.bytes));
        CHECK(part.begin == sent_ && part.begin + bytes.size() <= journal_.size(),
              "a part outside of the journal");
        CHECK(std::equal(bytes.begin(), bytes.end(), &journal_[part.begin]), "a part of another journal");
        sent_ += bytes.size();
      }
      for (const VersionExpired& gone : heard<VersionExpired>({it})) {
        CHECK(gone.wanted == left_++, "answers leave in another order");
        CHECK(gone.wanted < alone_from_ || held_.at(gone.wanted) <= confirmed_,
              "an answer leaves before the standby has its records");
      }
    }
  }

  std::vector<std::byte> journal_{300, std::byte{'h'}};
  StandbyFeed feed_{test::ShardCase::term, {"build", [this] { return journal_; }}};
  HeldAnswers answers_;  // as a Journaled scheduler holds them
  NodeId copy_;
  std::uint64_t attempt_ = 0, sent_ = 0, confirmed_ = 0;
  std::vector<std::uint64_t> held_;  // for each answer, the bytes that the standby must have
  std::uint64_t left_ = 0, alone_from_ = 0;
  bool counted_ = false;
};

}  // namespace

bool standby_receives(std::span<const std::byte> messages) {
  constexpr std::array from{scheduler_node, arbiter, its_mirror, other_standby};
  Follower follower;
  Time now{from_seconds(100)};
  while (!messages.empty()) {
    const unsigned before = take_before(messages);
    now = now + from_seconds((before & later) != 0 ? 3 : 0.01);
    const auto message = take_message(messages, Role::standby);
    if (message && !follower.leads()) follower.deliver(now, from[before & sender], *message);
  }
  return follower.leads();
}

std::vector<std::vector<std::byte>> standby_inputs() {
  std::vector<std::byte> journal;
  append(journal, {Time{}, JournalHead{"build", Job{}, {}, {}}});
  append(journal, {Time{Duration(1)}, Woken{}});
  append(journal, {Time{Duration(2)}, Followed{first_attempt}});
  append(journal, {Time{Duration(3)}, Woken{}});
  std::vector<std::byte> messages;
  put<ToStandby>(messages, 0, Following{first_attempt, 5});
  for (std::size_t begin = 0; begin < journal.size(); begin += 100) {
    const auto part = std::span(journal).subspan(begin, std::min<std::size_t>(100, journal.size() - begin));
    put<ToStandby>(messages, 0,
                   JournalPart{first_attempt, begin,
                               std::string(reinterpret_cast<const char*>(part.data()), part.size())});
  }
  put<ToStandby>(messages, later | 1, LeaderGrant{first_attempt, true});
  return {messages};
}

bool scheduler_receives(std::span<const std::byte> messages) {
  Leader leader;
  Time now{from_seconds(100)};
  while (!messages.empty()) {
    const unsigned before = take_before(messages);
    now = now + from_seconds((before & later) != 0 ? 3 : 0.01);
    leader.deliver(now, before, take_message(messages, Role::scheduler));
  }
  return leader.counted();
}

std::vector<std::vector<std::byte>> feed_inputs() {
  std::vector<std::byte> messages;
  put<ToScheduler>(messages, 0, Follow{"build", first_attempt});
  put<ToScheduler>(messages, 2, Arbitrates{first_attempt});
  put<ToScheduler>(messages, 0,
                   JournalAck{first_attempt, 320});  // includes the record that the standby counts
  for (std::uint64_t below = 340; below < 390; below += 10)
    put<ToScheduler>(messages, 0, JournalAck{first_attempt, below});
  std::vector<std::vector<std::byte>> inputs;
  for (const bool granted : {true, false}) {
    inputs.push_back(messages);
    put<ToScheduler>(inputs.back(), lost,
                     LeaderGrant{first_attempt, granted});  // from the standby itself: ignored
    put<ToScheduler>(inputs.back(), 2, LeaderGrant{first_attempt, granted});
    put<ToScheduler>(inputs.back(), 1, Follow{"build", first_attempt + 1});
  }
  return inputs;
}

// A shard grants each attempt to one claimant, and to a standby only if the scheduler has named the shard as
// arbiter.
bool arbiter_receives(std::span<const std::byte> messages) {
  test::ShardCase shard(test::shard_job(4, 4));
  std::map<std::uint64_t, bool> leads;  // by attempt: whether the standby leads
  std::set<std::uint64_t> arbitrated;
  bool all_read = true;
  while (!messages.empty()) {
    const NodeId from = take_before(messages) % 2 == 0 ? scheduler_node : standby_node;
    const auto message = take_message(messages, Role::shard);
    const auto* to_shard = message ? &std::get<ToShard>(*message) : nullptr;
    const auto* claim = to_shard == nullptr ? nullptr : std::get_if<LeaderClaim>(to_shard);
    const auto* arbitrate = to_shard == nullptr ? nullptr : std::get_if<Arbitrate>(to_shard);
    all_read = all_read && (claim != nullptr || arbitrate != nullptr);
    if (arbitrate != nullptr) {
      shard.deliver(scheduler_node, *arbitrate);
      arbitrated.insert(arbitrate->attempt);
    }
    if (claim == nullptr) continue;
    const auto& answers = shard.deliver(from, *claim);
    const auto grants = heard<LeaderGrant>(answers);
    const bool is_for_it = claim->term == test::ShardCase::term && claim->shard == test::shard_node;
    CHECK(grants.size() == (is_for_it ? 1 : 0), "exactly one answer to a valid claim");
    if (grants.empty()) continue;
    CHECK(answers.at(0).to == from && grants[0].attempt == claim->attempt, "an answer to another claim");
    if (!grants[0].granted) continue;
    CHECK(!claim->standby || arbitrated.contains(claim->attempt), "a standby leads without a named arbiter");
    const auto known = leads.try_emplace(claim->attempt, claim->standby).first;
    CHECK(known->second == claim->standby, "two nodes lead");
  }
  return all_read;
}

std::vector<std::vector<std::byte>> claims() {
  std::vector<std::byte> messages;
  for (const std::uint64_t attempt : {1, 2, 3}) {
    put<ToShard>(messages, 0, Arbitrate{test::ShardCase::term, attempt, attempt / 3});
    for (const unsigned from : {0U, 1U, 1U, 0U}) {
      const bool standby = (from + attempt) % 2 == 1;
      put<ToShard>(messages, standby ? 1 : 0,
                   LeaderClaim{test::ShardCase::term, attempt, test::shard_node, attempt / 3, standby});
    }
  }
  return {messages};
}

}  // namespace steelyard::fuzz
