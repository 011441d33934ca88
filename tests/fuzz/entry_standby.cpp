#include <map>
#include <set>

#include "core/check.h"
#include "protocol/journal.h"
#include "scheduler/recovery/journaled.h"
#include "scheduler/recovery/standby.h"
#include "scheduler/recovery/standby_feed.h"
#include "tests/fuzz/entry.h"
#include "tests/fuzz/said.h"
#include "tests/server/shard/shard_case.h"

namespace steelyard::fuzz {
namespace {

using test::heard;

constexpr NodeId standby_node{Role::standby, 5}, other_standby{Role::standby, 6}, arbiter{Role::shard, 2},
    its_mirror{Role::shard, 4};
constexpr std::uint64_t first_attempt = 7;

// Before each message: who says it, and what happens before.
enum Before : unsigned { who = 3, later = 0x10, moved = 0x20, lost = 0x40 };

template <class Receiver, class Said>
void put(std::vector<std::byte>& said, unsigned before, Said message) {
  said.push_back(static_cast<std::byte>(before));
  fuzz::put(said, Message(std::in_place_type<Receiver>, std::move(message)));
}

unsigned take_before(std::span<const std::byte>& said) {
  const auto before = std::to_integer<unsigned>(said[0]);
  said = said.subspan(1);
  return before;
}

// A standby, and what its scheduler may rely on.
class Follower {
 public:
  void hear(Time now, NodeId from, const Message& message) {
    Outbox out(standby_node);
    standby_.wake(now, out);
    for (const LeaderClaim& it : heard<LeaderClaim>(out.take())) claimed_ = it.attempt;
    if (standby_.finished()) return;
    standby_.step(now, {from, standby_node, message}, out);
    const auto& words = std::get<ToStandby>(message);
    if (const auto acks = heard<JournalAck>(out.take()); !acks.empty())
      confirmed(std::get<JournalPart>(words), acks.at(0));
    if (!standby_.leads()) return;
    const auto* granted = std::get_if<LeaderGrant>(&words);
    CHECK(granted != nullptr && granted->granted && from == arbiter, "it leads, and nobody let it");
    CHECK(claimed_ == granted->attempt, "it leads, and has not claimed the job");
  }
  [[nodiscard]] bool leads() const { return standby_.leads(); }

 private:
  void confirmed(const JournalPart& part, const JournalAck& ack) {
    CHECK(part.begin == stream_.size() && !claimed_, "what it confirms does not fit");
    const auto bytes = std::as_bytes(std::span(part.bytes));
    stream_.insert(stream_.end(), bytes.begin(), bytes.end());
    CHECK(ack.below == stream_.size(), "it confirms what it has not");
    JournalReader reader(stream_);
    std::size_t records = 0;
    while (reader.next()) ++records;
    CHECK(records == written_ && !reader.damaged(), "it confirms what it has not written");
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

// A scheduler that writes a record and says one thing after each word of its standby.
class Leader {
 public:
  void hear(Time now, unsigned before, const std::optional<Message>& message) {
    constexpr std::array from{standby_node, other_standby, arbiter, its_mirror};
    Outbox out(scheduler_node);
    ShardMember decides;
    decides.node = (before & moved) != 0 ? its_mirror : arbiter;
    Members members;
    members.shards.emplace(0, decides);
    feed_.wake(now, members, out);
    if ((before & lost) != 0) hear(now, link_node, Message(ToScheduler(Disconnected{standby_node})), out);
    if (message) hear(now, from[before & who], *message, out);
    if (feed_.take_change()) write(now, out);
    write(now, out);
    say(out);
    look_at(out.take());
    counted_ = counted_ || is(StandbyFeed::State::counting);
  }
  [[nodiscard]] bool counted() const { return counted_; }

 private:
  [[nodiscard]] bool is(StandbyFeed::State state) const { return feed_.state() == state; }
  void hear(Time now, NodeId from, const Message& message, Outbox& out) {
    const auto& words = std::get<ToScheduler>(message);
    const bool waited = is(StandbyFeed::State::claiming);
    if (const auto* ack = std::get_if<JournalAck>(&words)) {
      if (from == copy_ && ack->attempt == attempt_ && ack->below <= sent_)
        confirmed_ = std::max(confirmed_, ack->below);
    }
    feed_.hear(now, {from, scheduler_node, message}, out);
    const auto* granted = std::get_if<LeaderGrant>(&words);
    CHECK(!waited || is(StandbyFeed::State::claiming) || granted != nullptr,
          "it stops to wait without an answer");
    if (waited && !is(StandbyFeed::State::claiming) && feed_.ended().empty()) {
      CHECK(granted->granted, "it goes on, and nobody let it");
      let_go_ = held_.size();
    }
  }
  void write(Time now, Outbox& out) {
    const std::vector<std::byte> record(10, static_cast<std::byte>(journal_.size()));
    journal_.insert(journal_.end(), record.begin(), record.end());
    feed_.written(now, record, out);
  }
  void say(Outbox& out) {
    Outbox said(scheduler_node);
    said.send<ToWorker>({Role::worker, 3}, VersionExpired{held_.size(), 0});
    held_.push_back(is(StandbyFeed::State::counting) || is(StandbyFeed::State::claiming) ? journal_.size()
                                                                                         : 0);
    answers_.hold(said.take(), journal_.size());
    if (!feed_.ended().empty()) answers_.drop_all();
    if (const auto missing = feed_.missing()) answers_.release(journal_.size() - *missing, out);
  }
  void look_at(const std::vector<Envelope>& left) {
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
        CHECK(part.begin == sent_ && part.begin + bytes.size() <= journal_.size(), "a part of nothing");
        CHECK(std::equal(bytes.begin(), bytes.end(), &journal_[part.begin]), "a part of another journal");
        sent_ += bytes.size();
      }
      for (const VersionExpired& gone : heard<VersionExpired>({it})) {
        CHECK(gone.wanted == left_++, "words leave in another order");
        CHECK(gone.wanted < let_go_ || held_.at(gone.wanted) <= confirmed_, "said before the standby knows");
      }
    }
  }

  std::vector<std::byte> journal_{300, std::byte{'h'}};
  StandbyFeed feed_{test::ShardCase::term, {"build", [this] { return journal_; }}};
  HeldAnswers answers_;  // as a Journaled scheduler holds them
  NodeId copy_;
  std::uint64_t attempt_ = 0, sent_ = 0, confirmed_ = 0;
  std::vector<std::uint64_t> held_;  // for each word, how much the standby has to have
  std::uint64_t left_ = 0, let_go_ = 0;
  bool counted_ = false;
};

}  // namespace

bool hear_as_standby(std::span<const std::byte> said) {
  constexpr std::array from{scheduler_node, arbiter, its_mirror, other_standby};
  Follower follower;
  Time now{from_seconds(100)};
  while (!said.empty()) {
    const unsigned before = take_before(said);
    now = now + from_seconds((before & later) != 0 ? 3 : 0.01);
    const auto message = take_message(said, Role::standby);
    if (message && !follower.leads()) follower.hear(now, from[before & who], *message);
  }
  return follower.leads();
}

std::vector<std::vector<std::byte>> standby_inputs() {
  std::vector<std::byte> journal;
  append(journal, {Time{}, JournalHead{"build", Job{}, {}, {}}});
  append(journal, {Time{Duration(1)}, Woken{}});
  append(journal, {Time{Duration(2)}, Followed{first_attempt}});
  append(journal, {Time{Duration(3)}, Woken{}});
  std::vector<std::byte> said;
  put<ToStandby>(said, 0, Following{first_attempt, 5});
  for (std::size_t begin = 0; begin < journal.size(); begin += 100) {
    const auto part = std::span(journal).subspan(begin, std::min<std::size_t>(100, journal.size() - begin));
    put<ToStandby>(said, 0,
                   JournalPart{first_attempt, begin,
                               std::string(reinterpret_cast<const char*>(part.data()), part.size())});
  }
  put<ToStandby>(said, later | 1, LeaderGrant{first_attempt, true});
  return {said};
}

bool hear_of_standby(std::span<const std::byte> said) {
  Leader leader;
  Time now{from_seconds(100)};
  while (!said.empty()) {
    const unsigned before = take_before(said);
    now = now + from_seconds((before & later) != 0 ? 3 : 0.01);
    leader.hear(now, before, take_message(said, Role::scheduler));
  }
  return leader.counted();
}

std::vector<std::vector<std::byte>> feed_inputs() {
  std::vector<std::byte> said;
  put<ToScheduler>(said, 0, Follow{"build", first_attempt});
  put<ToScheduler>(said, 2, Arbitrates{first_attempt});
  put<ToScheduler>(said, 0, JournalAck{first_attempt, 320});  // and that it counts is a record too
  for (std::uint64_t below = 340; below < 390; below += 10)
    put<ToScheduler>(said, 0, JournalAck{first_attempt, below});
  std::vector<std::vector<std::byte>> inputs;
  for (const bool granted : {true, false}) {
    inputs.push_back(said);
    put<ToScheduler>(inputs.back(), lost, LeaderGrant{first_attempt, granted});  // the standby's own: nothing
    put<ToScheduler>(inputs.back(), 2, LeaderGrant{first_attempt, granted});
    put<ToScheduler>(inputs.back(), 1, Follow{"build", first_attempt + 1});
  }
  return inputs;
}

// Which claimants a shard lets lead: of each attempt one, and a standby only where the scheduler has asked
// the shard to decide.
bool hear_claims(std::span<const std::byte> said) {
  test::ShardCase shard(test::shard_job(4, 4));
  std::map<std::uint64_t, bool> leads;  // by attempt: whether the standby does
  std::set<std::uint64_t> arbitrated;
  bool all_read = true;
  while (!said.empty()) {
    const NodeId from = take_before(said) % 2 == 0 ? scheduler_node : standby_node;
    const auto message = take_message(said, Role::shard);
    const auto* to_shard = message ? &std::get<ToShard>(*message) : nullptr;
    const auto* claim = to_shard == nullptr ? nullptr : std::get_if<LeaderClaim>(to_shard);
    const auto* arbitrate = to_shard == nullptr ? nullptr : std::get_if<Arbitrate>(to_shard);
    all_read = all_read && (claim != nullptr || arbitrate != nullptr);
    if (arbitrate != nullptr) {
      shard.tell(scheduler_node, *arbitrate);
      arbitrated.insert(arbitrate->attempt);
    }
    if (claim == nullptr) continue;
    const auto& answers = shard.tell(from, *claim);
    const auto words = heard<LeaderGrant>(answers);
    const bool is_for_it = claim->term == test::ShardCase::term && claim->shard == test::shard_node;
    CHECK(words.size() == (is_for_it ? 1 : 0), "one answer, to this job's, from the shard that is asked");
    if (words.empty()) continue;
    CHECK(answers.at(0).to == from && words[0].attempt == claim->attempt, "an answer to another question");
    if (!words[0].granted) continue;
    CHECK(!claim->standby || arbitrated.contains(claim->attempt),
          "a standby leads without the scheduler's word");
    const auto known = leads.try_emplace(claim->attempt, claim->standby).first;
    CHECK(known->second == claim->standby, "two lead");
  }
  return all_read;
}

std::vector<std::vector<std::byte>> claims() {
  std::vector<std::byte> said;
  for (const std::uint64_t attempt : {1, 2, 3}) {
    put<ToShard>(said, 0, Arbitrate{test::ShardCase::term, attempt, attempt / 3});
    for (const unsigned from : {0U, 1U, 1U, 0U}) {
      const bool standby = (from + attempt) % 2 == 1;
      put<ToShard>(said, standby ? 1 : 0,
                   LeaderClaim{test::ShardCase::term, attempt, test::shard_node, attempt / 3, standby});
    }
  }
  return {said};
}

}  // namespace steelyard::fuzz
