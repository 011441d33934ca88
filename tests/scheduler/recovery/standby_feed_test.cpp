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

// The scheduler's side, and the messages that leave its process.
struct Feed : testing::Test {
  void receive(NodeId from, ToScheduler message, double when = 1) {
    Outbox out(scheduler_node);
    EXPECT_TRUE(feed.hear(at(when), {from, scheduler_node, Message(std::move(message))}, out));
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
  void send_answer(Round round) {
    Outbox outgoing(scheduler_node), out(scheduler_node);
    outgoing.send<ToWorker>(worker, VersionExpired{round, 0});
    outgoing.send<ToRecorder>(recorder_node, Note{"note"});
    hold(outgoing.take(), out);
    release(feed, out);
    take(out);
  }
  // As a Journaled scheduler does with its answers.
  void hold(std::vector<Envelope> outgoing, Outbox& out) {
    std::vector<Envelope> answers;
    for (Envelope& it : outgoing) {
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
  // `decides`: the shard in the last slot; std::nullopt: there are no shards.
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
  // The standby confirms the whole journal.
  void confirm(std::uint64_t attempt = 7) { receive(standby, JournalAck{attempt, journal.size()}); }
  void follow(std::optional<NodeId> decides = arbiter) {
    receive(standby, Follow{"build", 7});
    confirm();
    wake(1, decides);
    if (decides) receive(*decides, Arbitrates{7});
    expect_change(7, decides.value_or(NodeId{}));
    write(10);  // the record of that change
    confirm();
    messages.clear();
  }
  void expect_change(std::uint64_t attempt, NodeId decides) {
    const auto change = feed.take_change();
    ASSERT_TRUE(change);
    EXPECT_EQ(change->attempt, attempt);
    EXPECT_EQ(change->arbiter, decides);
  }
  std::vector<NodeId> asked() const {
    std::vector<NodeId> nodes;
    for (const Envelope& it : messages) {
      if (sim::says<ToShard, LeaderClaim>(it.message)) nodes.push_back(it.to);
    }
    return nodes;
  }
  void take(Outbox& out) {
    for (Envelope& it : out.take()) messages.push_back(std::move(it));
  }
  template <class Body>
  std::vector<Body> sent_of() {
    return test::heard<Body>(messages);
  }

  std::vector<std::byte> journal{100, std::byte{'h'}};
  StandbyFeed feed{term, {"build", [this] { return journal; }}};
  HeldAnswers held;
  std::vector<Envelope> messages;
};

TEST_F(Feed, GoesThroughItsStates) {
  using State = StandbyFeed::State;
  EXPECT_EQ(feed.state(), State::alone);
  receive(standby, Follow{"build", 6});
  EXPECT_EQ(feed.state(), State::copying);
  receive(standby, Follow{"build", 7});
  EXPECT_EQ(feed.state(), State::copying) << "the copy restarts";
  receive(standby, Disconnected{standby});
  EXPECT_EQ(feed.state(), State::alone) << "it did not count yet";
  follow();
  EXPECT_EQ(feed.state(), State::counting);
  receive(standby, Follow{"build", 8});
  EXPECT_EQ(feed.state(), State::claiming) << "it has lost its copy";
  wake(1);
  receive(arbiter, LeaderGrant{7, true});
  EXPECT_EQ(feed.state(), State::alone);
  expect_change(0, {});
  follow();
  receive(standby, Disconnected{standby});
  wake(1);
  receive(arbiter, LeaderGrant{7, false});
  EXPECT_EQ(feed.state(), State::ended);
}

TEST_F(Feed, SendsTheJournalInParts) {
  journal.resize(200'000, std::byte{'j'});
  receive(standby, Follow{"build", 7}, 3);
  ASSERT_EQ(sent_of<Following>().size(), 1u);
  EXPECT_EQ(sent_of<Following>()[0].now, at(3).since_origin.count());
  write(50);
  std::string got;
  for (const JournalPart& part : sent_of<JournalPart>()) {
    EXPECT_EQ(part.begin, got.size());
    EXPECT_EQ(part.attempt, 7u);
    got += part.bytes;
  }
  EXPECT_EQ(got.size(), journal.size());
  EXPECT_EQ(got.substr(0, 101), std::string(100, 'h') + "j");
}

TEST_F(Feed, KeepsAtMostAFewMegabytesInFlight) {
  journal.resize(40 << 20);
  receive(standby, Follow{"build", 7});
  std::size_t sent = 0;
  for (const JournalPart& part : sent_of<JournalPart>()) sent += part.bytes.size();
  EXPECT_LE(sent, std::size_t{8} << 20);
  messages.clear();
  receive(standby, JournalAck{7, sent});
  EXPECT_FALSE(sent_of<JournalPart>().empty());
}

TEST_F(Feed, WaitsForTheStandbyOnceItCounts) {
  send_answer(1);
  EXPECT_EQ(sent_of<VersionExpired>().size(), 1u) << "there is no standby";
  receive(standby, Follow{"build", 7});
  send_answer(2);
  EXPECT_EQ(sent_of<VersionExpired>().size(), 2u) << "it does not count yet";
  EXPECT_FALSE(feed.take_change());
  wake(1);
  confirm();
  EXPECT_FALSE(feed.take_change()) << "no shard has confirmed that it is the arbiter";
  receive(arbiter, Arbitrates{6});
  EXPECT_FALSE(feed.take_change()) << "of another attempt";
  receive(arbiter, Arbitrates{7});
  expect_change(7, arbiter);
  write(10);
  send_answer(3);
  EXPECT_EQ(sent_of<VersionExpired>().size(), 2u);
  EXPECT_EQ(sent_of<Note>().size(), 3u) << "notes do not wait";
  confirm();
  ASSERT_EQ(sent_of<VersionExpired>().size(), 3u);
  EXPECT_EQ(sent_of<VersionExpired>()[2].wanted, 3u);
}

TEST_F(Feed, WithoutItsStandbyItClaimsTheJobBeforeAnswering) {
  follow();
  write(10);
  send_answer(1);
  receive(link_node, Disconnected{standby});
  wake(2);
  EXPECT_THAT(asked(), testing::ElementsAre(arbiter, first));
  wake(2.01);
  EXPECT_EQ(asked().size(), 2u) << "not repeated at once";
  wake(2.1);
  EXPECT_EQ(asked().size(), 4u);
  EXPECT_TRUE(sent_of<VersionExpired>().empty());
  receive(arbiter, LeaderGrant{7, true});
  EXPECT_EQ(sent_of<VersionExpired>().size(), 1u);
  expect_change(0, {});
  send_answer(2);
  EXPECT_EQ(sent_of<VersionExpired>().size(), 2u);
}

TEST_F(Feed, ARefusedSchedulerSendsNothingMore) {
  follow();
  write(10);
  send_answer(1);
  receive(link_node, Disconnected{standby});
  receive(arbiter, LeaderGrant{7, false});
  EXPECT_THAT(feed.ended(), testing::HasSubstr("leads the job"));
  EXPECT_TRUE(feed.superseded());
  send_answer(2);
  EXPECT_TRUE(sent_of<VersionExpired>().empty());
}

TEST_F(Feed, OnlyShardsThatItAskedMayRefuse) {
  follow();
  receive(link_node, Disconnected{standby});
  wake(2);
  receive(its_mirror, LeaderGrant{7, false});
  EXPECT_TRUE(feed.ended().empty());
}

// A shard that is not the arbiter may know of a later leader.
TEST_F(Feed, EveryShardThatItAskedMayRefuse) {
  follow();
  receive(link_node, Disconnected{standby});
  wake(2);
  send_answer(1);
  receive(first, LeaderGrant{7, true});
  EXPECT_TRUE(sent_of<VersionExpired>().empty()) << "it is not the arbiter";
  receive(first, LeaderGrant{7, false});
  EXPECT_THAT(feed.ended(), testing::HasSubstr("leads the job"));
}

TEST_F(Feed, AStandbyThatDoesNotAnswerIsLost) {
  follow();
  wake(5);
  EXPECT_TRUE(sent_of<LeaderClaim>().empty()) << "there is nothing to answer";
  write(10);
  wake(1.9);
  EXPECT_TRUE(sent_of<LeaderClaim>().empty());
  wake(2.1);
  EXPECT_EQ(sent_of<LeaderClaim>().size(), 2u);
}

TEST_F(Feed, AStandbyThatDoesNotCountYetMayLeave) {
  receive(standby, Follow{"build", 7});
  receive(link_node, Disconnected{standby});
  wake(2);
  EXPECT_TRUE(sent_of<LeaderClaim>().empty());
  receive(other, Follow{"build", 8});
  EXPECT_EQ(sent_of<Following>().size(), 2u);
}

TEST_F(Feed, WithoutShardsNoGrantIsNeeded) {
  follow({});
  receive(link_node, Disconnected{standby});
  send_answer(1);
  wake(2, {});
  EXPECT_EQ(sent_of<VersionExpired>().size(), 1u);
}

TEST_F(Feed, AsksEveryArbiterItsStandbyMayAsk) {
  follow();
  write(10);  // the arbiter is lost
  wake(1, its_mirror);
  receive(its_mirror, Arbitrates{7});
  expect_change(7, its_mirror);
  write(10);
  send_answer(1);
  receive(link_node, Disconnected{standby});
  wake(2, its_mirror);
  EXPECT_THAT(asked(), testing::ElementsAre(arbiter, its_mirror, first));
  receive(its_mirror, LeaderGrant{7, true});
  EXPECT_TRUE(sent_of<VersionExpired>().empty())
      << "the standby may have asked the former arbiter, which it knows";
  messages.clear();
  wake(2.1, its_mirror);
  EXPECT_THAT(asked(), testing::ElementsAre(arbiter, first, its_mirror));
  receive(arbiter, LeaderGrant{7, true});
  EXPECT_EQ(sent_of<VersionExpired>().size(), 1u);
}

TEST_F(Feed, AsksNoArbiterItsStandbyKnowsToBeReplaced) {
  follow();
  write(10);
  wake(1, its_mirror);
  confirm();
  EXPECT_FALSE(feed.take_change()) << "it would refuse the standby";
  receive(its_mirror, Arbitrates{7});
  expect_change(7, its_mirror);
  write(10);
  EXPECT_FALSE(feed.is_settled());
  confirm();
  expect_change(7, its_mirror);  // so that it is the only one in the journal too
  EXPECT_TRUE(feed.is_settled());
  receive(link_node, Disconnected{standby});
  wake(2, its_mirror);
  EXPECT_THAT(asked(), testing::ElementsAre(its_mirror, first));
}

TEST_F(Feed, EndsIfNoArbiterAnswers) {
  follow();
  write(10);
  wake(1, its_mirror);
  send_answer(1);
  receive(link_node, Disconnected{standby});
  wake(2, its_mirror);
  receive(its_mirror, LeaderGrant{7, true});
  wake(61, its_mirror);
  EXPECT_TRUE(feed.ended().empty());
  wake(63, its_mirror);
  EXPECT_THAT(feed.ended(), testing::HasSubstr("--resume"));
  EXPECT_FALSE(feed.superseded());
  EXPECT_TRUE(sent_of<VersionExpired>().empty());
}

TEST_F(Feed, RefusesStandbysItCannotServe) {
  receive(standby, Follow{"another build", 7});
  EXPECT_FALSE(sent_of<Following>()[0].refusal.empty());
  receive(standby, Follow{"build", 8});
  EXPECT_TRUE(sent_of<Following>()[1].refusal.empty());
  receive(other, Follow{"build", 9});
  EXPECT_FALSE(sent_of<Following>()[2].refusal.empty()) << "a second one";
  journal.clear();
  receive(link_node, Disconnected{standby});
  receive(other, Follow{"build", 10});
  EXPECT_FALSE(sent_of<Following>()[3].refusal.empty()) << "the journal has ended";
}

// The arbiter of the former attempt has not confirmed the new one.
TEST_F(Feed, ARestartedCopyCountsAfterANewConfirmation) {
  follow();
  receive(standby, Follow{"build", 8});
  wake(2);
  EXPECT_TRUE(sent_of<Following>().size() <= 1u);
  receive(arbiter, LeaderGrant{7, true});
  receive(standby, Follow{"build", 9});
  messages.clear();
  wake(3);
  ASSERT_EQ(sent_of<Arbitrate>().size(), 1u);
  EXPECT_EQ(sent_of<Arbitrate>()[0].attempt, 9u);
  EXPECT_EQ(sent_of<Arbitrate>()[0].generation, 3u);
}

// Another thread reads the journal: the standby asks until it has been read.
TEST_F(Feed, FollowIsAnsweredOnceTheJournalIsRead) {
  std::optional<std::vector<std::byte>> read;
  StandbyFeed slow(term, {"build", [&] { return read; }});
  Outbox out(scheduler_node);
  const Envelope ask{standby, scheduler_node, Message(ToScheduler(Follow{"build", 7}))};
  EXPECT_TRUE(slow.hear(at(1), ask, out));
  EXPECT_TRUE(out.take().empty());
  read = journal;
  slow.hear(at(1.2), ask, out);
  const std::vector<Envelope> outgoing = out.take();
  ASSERT_EQ(test::heard<Following>(outgoing).size(), 1u);
  EXPECT_TRUE(test::heard<Following>(outgoing)[0].refusal.empty());
  EXPECT_EQ(test::heard<JournalPart>(outgoing).size(), 1u);
}

TEST_F(Feed, LeavesOtherMessagesToTheScheduler) {
  Outbox out(scheduler_node);
  EXPECT_FALSE(feed.hear(at(1), {worker, scheduler_node, Message(ToScheduler(Ready{}))}, out));
  EXPECT_FALSE(
      feed.hear(at(1), {link_node, scheduler_node, Message(ToScheduler(Disconnected{worker}))}, out));
}

}  // namespace
}  // namespace steelyard::test::standby_feed_test
