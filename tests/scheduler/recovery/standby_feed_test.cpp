#include "scheduler/recovery/standby_feed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/recovery/journaled.h"
#include "sim/faults.h"
#include "tests/support/heard.h"

namespace steelyard::test::standby_feed_test {
namespace {

constexpr NodeId standby{Role::standby, 5}, other{Role::standby, 6}, first{Role::shard, 1},
    arbiter{Role::shard, 2}, its_mirror{Role::shard, 4}, worker{Role::worker, 3};
constexpr Term term = 4;
Time at(double s) { return Time{from_seconds(s)}; }

// A scheduler's side, and whatever leaves its process.
struct Feed : testing::Test {
  void hear(NodeId from, ToScheduler said, double when = 1) {
    Outbox out(scheduler_node);
    EXPECT_TRUE(feed.hear(at(when), {from, scheduler_node, Message(std::move(said))}, out));
    release(feed, out);
    take(out);
  }
  void write(std::size_t bytes) {
    const std::vector<std::byte> record(bytes, std::byte{'r'});
    journal.insert(journal.end(), record.begin(), record.end());
    Outbox out(scheduler_node);
    feed.written(at(1), record, out);
    take(out);
  }
  void say(Round round) {
    Outbox said(scheduler_node), out(scheduler_node);
    said.send<ToWorker>(worker, VersionExpired{round, 0});
    said.send<ToRecorder>(recorder_node, Note{"said"});
    hold(said.take(), out);
    release(feed, out);
    take(out);
  }
  // What a Journaled scheduler does with its answers.
  void hold(std::vector<Envelope> said, Outbox& out) {
    std::vector<Envelope> answers;
    for (Envelope& it : said) {
      if (std::holds_alternative<ToRecorder>(it.message)) {
        out.append({it});
      } else {
        answers.push_back(std::move(it));
      }
    }
    held.hold(std::move(answers), journal.size());
  }
  void release(const StandbyFeed& where, Outbox& out) {
    if (!where.ended().empty()) held.drop_all();
    if (const auto missing = where.missing()) held.release(journal.size() - *missing, out);
  }
  // `decides`: the shard in the last slot; nothing: there are no shards.
  void wake(double when, std::optional<NodeId> decides = arbiter) {
    Members members;
    members.generation = 3;
    if (decides) members.shards.try_emplace(0, ShardMember{first, 0, "first", "tcp://f", {}, {}});
    if (decides) members.shards.try_emplace(1, ShardMember{*decides, 1, "last", "tcp://l", {}, {}});
    Outbox out(scheduler_node);
    feed.wake(at(when), members, out);
    release(feed, out);
    take(out);
  }
  // All of the journal is confirmed.
  void confirm(std::uint64_t attempt = 7) { hear(standby, JournalAck{attempt, journal.size()}); }
  void follow(std::optional<NodeId> decides = arbiter) {
    hear(standby, Follow{"build", 7});
    confirm();
    wake(1, decides);
    if (decides) hear(*decides, Arbitrates{7});
    expect_change(7, decides.value_or(NodeId{}));
    write(10);  // that it is so
    confirm();
    left.clear();
  }
  void expect_change(std::uint64_t attempt, NodeId decides) {
    const auto change = feed.take_change();
    ASSERT_TRUE(change);
    EXPECT_EQ(change->attempt, attempt);
    EXPECT_EQ(change->arbiter, decides);
  }
  std::vector<NodeId> asked() const {
    std::vector<NodeId> nodes;
    for (const Envelope& it : left) {
      if (sim::says<ToShard, LeaderClaim>(it.message)) nodes.push_back(it.to);
    }
    return nodes;
  }
  void take(Outbox& out) {
    for (Envelope& it : out.take()) left.push_back(std::move(it));
  }
  template <class Said>
  std::vector<Said> heard() {
    return test::heard<Said>(left);
  }

  std::vector<std::byte> journal{100, std::byte{'h'}};
  StandbyFeed feed{term, {"build", [this] { return journal; }}};
  HeldAnswers held;
  std::vector<Envelope> left;
};

TEST_F(Feed, GoesThroughItsStates) {
  using State = StandbyFeed::State;
  EXPECT_EQ(feed.state(), State::alone);
  hear(standby, Follow{"build", 6});
  EXPECT_EQ(feed.state(), State::copying);
  hear(standby, Follow{"build", 7});
  EXPECT_EQ(feed.state(), State::copying) << "it begins anew";
  hear(standby, Disconnected{standby});
  EXPECT_EQ(feed.state(), State::alone) << "it did not count";
  follow();
  EXPECT_EQ(feed.state(), State::counting);
  hear(standby, Follow{"build", 8});
  EXPECT_EQ(feed.state(), State::claiming) << "it has lost what it had";
  wake(1);
  hear(arbiter, LeaderGrant{7, true});
  EXPECT_EQ(feed.state(), State::alone);
  expect_change(0, {});
  follow();
  hear(standby, Disconnected{standby});
  wake(1);
  hear(arbiter, LeaderGrant{7, false});
  EXPECT_EQ(feed.state(), State::ended);
}

TEST_F(Feed, SendsTheJournalInParts) {
  journal.resize(200'000, std::byte{'j'});
  hear(standby, Follow{"build", 7}, 3);
  ASSERT_EQ(heard<Following>().size(), 1u);
  EXPECT_EQ(heard<Following>()[0].now, at(3).since_origin.count());
  write(50);
  std::string got;
  for (const JournalPart& part : heard<JournalPart>()) {
    EXPECT_EQ(part.begin, got.size());
    EXPECT_EQ(part.attempt, 7u);
    got += part.bytes;
  }
  EXPECT_EQ(got.size(), journal.size());
  EXPECT_EQ(got.substr(0, 101), std::string(100, 'h') + "j");
}

TEST_F(Feed, HasNoMoreUnderWayThanAFewMegabytes) {
  journal.resize(40 << 20);
  hear(standby, Follow{"build", 7});
  std::size_t sent = 0;
  for (const JournalPart& part : heard<JournalPart>()) sent += part.bytes.size();
  EXPECT_LE(sent, std::size_t{8} << 20);
  left.clear();
  hear(standby, JournalAck{7, sent});
  EXPECT_FALSE(heard<JournalPart>().empty());
}

TEST_F(Feed, WaitsForTheStandbyOnceItCounts) {
  say(1);
  EXPECT_EQ(heard<VersionExpired>().size(), 1u) << "there is none";
  hear(standby, Follow{"build", 7});
  say(2);
  EXPECT_EQ(heard<VersionExpired>().size(), 2u) << "it does not count yet";
  EXPECT_FALSE(feed.take_change());
  wake(1);
  confirm();
  EXPECT_FALSE(feed.take_change()) << "no shard has confirmed that it decides";
  hear(arbiter, Arbitrates{6});
  EXPECT_FALSE(feed.take_change()) << "of another attempt";
  hear(arbiter, Arbitrates{7});
  expect_change(7, arbiter);
  write(10);
  say(3);
  EXPECT_EQ(heard<VersionExpired>().size(), 2u);
  EXPECT_EQ(heard<Note>().size(), 3u) << "people need not wait";
  confirm();
  ASSERT_EQ(heard<VersionExpired>().size(), 3u);
  EXPECT_EQ(heard<VersionExpired>()[2].wanted, 3u);
}

TEST_F(Feed, WithoutItsStandbyItClaimsTheJobBeforeItSpeaks) {
  follow();
  write(10);
  say(1);
  hear(link_node, Disconnected{standby});
  wake(2);
  EXPECT_THAT(asked(), testing::ElementsAre(arbiter, first));
  wake(2.01);
  EXPECT_EQ(asked().size(), 2u) << "not at once";
  wake(2.1);
  EXPECT_EQ(asked().size(), 4u);
  EXPECT_TRUE(heard<VersionExpired>().empty());
  hear(arbiter, LeaderGrant{7, true});
  EXPECT_EQ(heard<VersionExpired>().size(), 1u);
  expect_change(0, {});
  say(2);
  EXPECT_EQ(heard<VersionExpired>().size(), 2u);
}

TEST_F(Feed, WhoIsRefusedSaysNothingMore) {
  follow();
  write(10);
  say(1);
  hear(link_node, Disconnected{standby});
  hear(arbiter, LeaderGrant{7, false});
  EXPECT_THAT(feed.ended(), testing::HasSubstr("leads the job"));
  EXPECT_TRUE(feed.superseded());
  say(2);
  EXPECT_TRUE(heard<VersionExpired>().empty());
}

TEST_F(Feed, OnlyAShardThatItAskedRefusesIt) {
  follow();
  hear(link_node, Disconnected{standby});
  wake(2);
  hear(its_mirror, LeaderGrant{7, false});
  EXPECT_TRUE(feed.ended().empty());
}

// That one knows of a later leader, though it does not decide.
TEST_F(Feed, EveryShardThatItAskedMayRefuseIt) {
  follow();
  hear(link_node, Disconnected{standby});
  wake(2);
  say(1);
  hear(first, LeaderGrant{7, true});
  EXPECT_TRUE(heard<VersionExpired>().empty()) << "it does not decide";
  hear(first, LeaderGrant{7, false});
  EXPECT_THAT(feed.ended(), testing::HasSubstr("leads the job"));
}

TEST_F(Feed, AStandbyThatDoesNotAnswerIsLost) {
  follow();
  wake(5);
  EXPECT_TRUE(heard<LeaderClaim>().empty()) << "there is nothing to answer";
  write(10);
  wake(1.9);
  EXPECT_TRUE(heard<LeaderClaim>().empty());
  wake(2.1);
  EXPECT_EQ(heard<LeaderClaim>().size(), 2u);
}

TEST_F(Feed, OneThatDoesNotCountYetMayGo) {
  hear(standby, Follow{"build", 7});
  hear(link_node, Disconnected{standby});
  wake(2);
  EXPECT_TRUE(heard<LeaderClaim>().empty());
  hear(other, Follow{"build", 8});
  EXPECT_EQ(heard<Following>().size(), 2u);
}

TEST_F(Feed, BeforeThereAreShardsNobodyHasToBeAsked) {
  follow({});
  hear(link_node, Disconnected{standby});
  say(1);
  wake(2, {});
  EXPECT_EQ(heard<VersionExpired>().size(), 1u);
}

TEST_F(Feed, AsksWhomeverItsStandbyMayAsk) {
  follow();
  write(10);  // the arbiter is lost
  wake(1, its_mirror);
  hear(its_mirror, Arbitrates{7});
  expect_change(7, its_mirror);
  write(10);
  say(1);
  hear(link_node, Disconnected{standby});
  wake(2, its_mirror);
  EXPECT_THAT(asked(), testing::ElementsAre(arbiter, its_mirror, first));
  hear(its_mirror, LeaderGrant{7, true});
  EXPECT_TRUE(heard<VersionExpired>().empty())
      << "the standby may have asked the other one, which it knows of";
  left.clear();
  wake(2.1, its_mirror);
  EXPECT_THAT(asked(), testing::ElementsAre(arbiter, first, its_mirror));
  hear(arbiter, LeaderGrant{7, true});
  EXPECT_EQ(heard<VersionExpired>().size(), 1u);
}

TEST_F(Feed, AsksNobodyWhomItsStandbyKnowsToBeReplaced) {
  follow();
  write(10);
  wake(1, its_mirror);
  confirm();
  EXPECT_FALSE(feed.take_change()) << "it would refuse the standby";
  hear(its_mirror, Arbitrates{7});
  expect_change(7, its_mirror);
  write(10);
  EXPECT_FALSE(feed.is_settled());
  confirm();
  expect_change(7, its_mirror);  // so that it is the only one in the journal too
  EXPECT_TRUE(feed.is_settled());
  hear(link_node, Disconnected{standby});
  wake(2, its_mirror);
  EXPECT_THAT(asked(), testing::ElementsAre(its_mirror, first));
}

TEST_F(Feed, EndsWhereNobodyDecides) {
  follow();
  write(10);
  wake(1, its_mirror);
  say(1);
  hear(link_node, Disconnected{standby});
  wake(2, its_mirror);
  hear(its_mirror, LeaderGrant{7, true});
  wake(61, its_mirror);
  EXPECT_TRUE(feed.ended().empty());
  wake(63, its_mirror);
  EXPECT_THAT(feed.ended(), testing::HasSubstr("--resume"));
  EXPECT_FALSE(feed.superseded());
  EXPECT_TRUE(heard<VersionExpired>().empty());
}

TEST_F(Feed, RefusesWhomItCannotServe) {
  hear(standby, Follow{"another build", 7});
  EXPECT_FALSE(heard<Following>()[0].refusal.empty());
  hear(standby, Follow{"build", 8});
  EXPECT_TRUE(heard<Following>()[1].refusal.empty());
  hear(other, Follow{"build", 9});
  EXPECT_FALSE(heard<Following>()[2].refusal.empty()) << "a second one";
  journal.clear();
  hear(link_node, Disconnected{standby});
  hear(other, Follow{"build", 10});
  EXPECT_FALSE(heard<Following>()[3].refusal.empty()) << "the journal has ended";
}

// The former attempt's arbiter has not confirmed this one.
TEST_F(Feed, AStandbyThatFollowsAnewCountsWhenTheShardHasConfirmedThat) {
  follow();
  hear(standby, Follow{"build", 8});
  wake(2);
  EXPECT_TRUE(heard<Following>().size() <= 1u);
  hear(arbiter, LeaderGrant{7, true});
  hear(standby, Follow{"build", 9});
  left.clear();
  wake(3);
  ASSERT_EQ(heard<Arbitrate>().size(), 1u);
  EXPECT_EQ(heard<Arbitrate>()[0].attempt, 9u);
  EXPECT_EQ(heard<Arbitrate>()[0].generation, 3u);
}

// A journal that another thread reads: the standby asks until it is there.
TEST_F(Feed, AStandbyThatAsksBeforeTheJournalIsReadAsksAgain) {
  std::optional<std::vector<std::byte>> read;
  StandbyFeed slow(term, {"build", [&] { return read; }});
  Outbox out(scheduler_node);
  const Envelope ask{standby, scheduler_node, Message(ToScheduler(Follow{"build", 7}))};
  EXPECT_TRUE(slow.hear(at(1), ask, out));
  EXPECT_TRUE(out.take().empty());
  read = journal;
  slow.hear(at(1.2), ask, out);
  const std::vector<Envelope> said = out.take();
  ASSERT_EQ(test::heard<Following>(said).size(), 1u);
  EXPECT_TRUE(test::heard<Following>(said)[0].refusal.empty());
  EXPECT_EQ(test::heard<JournalPart>(said).size(), 1u);
}

TEST_F(Feed, LeavesTheRestToTheScheduler) {
  Outbox out(scheduler_node);
  EXPECT_FALSE(feed.hear(at(1), {worker, scheduler_node, Message(ToScheduler(Ready{}))}, out));
  EXPECT_FALSE(
      feed.hear(at(1), {link_node, scheduler_node, Message(ToScheduler(Disconnected{worker}))}, out));
}

}  // namespace
}  // namespace steelyard::test::standby_feed_test
