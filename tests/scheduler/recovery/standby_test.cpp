#include "scheduler/recovery/standby.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/support/heard.h"
#include "tests/support/toy_job.h"

namespace steelyard::test::standby_test {
namespace {

constexpr NodeId self{Role::standby, 5}, arbiter{Role::shard, 2};
Time at(double s) { return Time{from_seconds(s)}; }

// The scheduler's clock is 100 s behind the standby's.
struct FollowingStandby : testing::Test {
  Standby make() {
    return Standby({"build", 7, from_seconds(60), [this] { written.clear(); },
                    [this](const JournalRecord& record) { written.push_back(record); },
                    [this]() -> std::optional<Standby::Place> {
                      if (!has_shards) return std::nullopt;
                      return Standby::Place{arbiter, "tcp://shard"};
                    }});
  }
  void receive(NodeId from, ToStandby body, double when) {
    Outbox out(self);
    standby.step(at(when), {from, self, Message(std::move(body))}, out);
    sent_now = out.take();
  }
  void wake(double when) {
    Outbox out(self);
    standby.wake(at(when), out);
    sent_now = out.take();
  }
  // One record, in two parts.
  void send(const JournalRecord& record, double when, std::uint64_t attempt = 7) {
    std::vector<std::byte> bytes;
    append(bytes, record);
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    receive(scheduler_node, JournalPart{attempt, sent, text.substr(0, 5)}, when);
    receive(scheduler_node, JournalPart{attempt, sent + 5, text.substr(5)}, when);
    sent += text.size();
  }
  void begin(double when = 101) {
    wake(when);
    receive(scheduler_node, Following{7, at(when - 100).since_origin.count()}, when);
    JournalHead head{"build", test::toy_job(8, 4, 1, 1, 1), {}, {}};
    head.from.term = 4;
    send({at(1), head}, when);
  }
  void count(double when = 102) {
    begin();
    send({at(when - 100), Followed{7}}, when);
  }
  template <class Body>
  std::vector<Body> sent_of() {
    return test::heard<Body>(sent_now);
  }

  bool has_shards = true;
  std::vector<JournalRecord> written;
  std::vector<Envelope> sent_now;
  std::uint64_t sent = 0;
  Standby standby = make();
};

TEST_F(FollowingStandby, AsksUntilItIsAnswered) {
  wake(1);
  ASSERT_EQ(sent_of<Follow>().size(), 1u);
  EXPECT_EQ(sent_of<Follow>()[0].attempt, 7u);
  wake(1.1);
  EXPECT_TRUE(sent_of<Follow>().empty());
  wake(1.3);
  EXPECT_EQ(sent_of<Follow>().size(), 1u);
  receive(scheduler_node, Following{7, 0}, 1.4);
  wake(2);
  EXPECT_TRUE(sent_of<Follow>().empty());
}

TEST_F(FollowingStandby, WritesRecordsOnItsOwnClockAndConfirmsThem) {
  begin();
  EXPECT_EQ(sent_of<JournalAck>().at(0).below, sent);
  send({at(1.5), Woken{}}, 102);
  ASSERT_EQ(written.size(), 2u);
  EXPECT_EQ(written[1].now, at(101.5));
  EXPECT_FALSE(standby.counts());
  send({at(2), Followed{7}}, 102);
  EXPECT_TRUE(standby.counts());
  send({at(3), Followed{0}}, 103);
  EXPECT_FALSE(standby.counts());
}

TEST_F(FollowingStandby, LeadsWhenTheSchedulerIsSilentAndAShardGrantsIt) {
  count();
  wake(103.9);
  EXPECT_TRUE(sent_of<LeaderClaim>().empty());
  wake(104.2);
  ASSERT_EQ(sent_of<LeaderClaim>().size(), 1u);
  EXPECT_EQ(sent_of<LeaderClaim>()[0].attempt, 7u);
  EXPECT_EQ(sent_of<LeaderClaim>()[0].term, 4u);
  EXPECT_EQ(sent_of<Connect>().size(), 1u);
  wake(104.3);
  EXPECT_EQ(sent_of<LeaderClaim>().size(), 1u) << "repeated";
  receive(arbiter, LeaderGrant{7, true}, 104.3);
  EXPECT_TRUE(standby.leads());
  const std::vector<Disconnect> left_alone = sent_of<Disconnect>();
  ASSERT_EQ(left_alone.size(), 2u) << "nothing waits for the former scheduler";
  EXPECT_EQ(left_alone[1].node, scheduler_node);
  EXPECT_TRUE(standby.finished());
}

TEST_F(FollowingStandby, ConfirmsNothingAfterItsClaim) {
  count();
  wake(104.2);
  send({at(5), Woken{}}, 105);
  EXPECT_TRUE(sent_of<JournalAck>().empty());
  EXPECT_EQ(written.size(), 2u);
}

TEST_F(FollowingStandby, ARefusedStandbyFollowsAgain) {
  count();
  wake(104.2);
  receive(arbiter, LeaderGrant{7, false}, 104.3);
  EXPECT_FALSE(standby.finished());
  wake(104.4);
  ASSERT_EQ(sent_of<Follow>().size(), 1u);
  EXPECT_EQ(sent_of<Follow>()[0].attempt, 8u);
  EXPECT_TRUE(sent_of<LeaderClaim>().empty());
}

TEST_F(FollowingStandby, AStandbyThatDoesNotCountNeverLeads) {
  begin();
  wake(150);
  EXPECT_TRUE(sent_of<LeaderClaim>().empty());
  wake(170);
  EXPECT_TRUE(standby.exit_reason().unreachable());
}

TEST_F(FollowingStandby, ASchedulerThatReturnsInTimeIsFollowed) {
  count();
  receive(link_node, Disconnected{scheduler_node}, 103);
  wake(103.1);
  ASSERT_EQ(sent_of<Follow>().size(), 1u);
  EXPECT_TRUE(standby.counts()) << "until the scheduler answers";
  sent = 0;
  receive(scheduler_node, Following{8, 0}, 103.2);
  EXPECT_FALSE(standby.counts());
  EXPECT_TRUE(written.empty()) << "the copy restarts";
}

TEST_F(FollowingStandby, AGapRestartsTheCopy) {
  begin();
  receive(scheduler_node, JournalPart{7, sent + 1, "x"}, 102);
  EXPECT_TRUE(sent_of<JournalAck>().empty());
  wake(102.1);
  EXPECT_EQ(sent_of<Follow>().size(), 1u);
}

// The scheduler relies on every confirmed record being stored.
TEST_F(FollowingStandby, UnreadableRecordsAreNotConfirmed) {
  count();
  std::vector<std::byte> record;
  append(record, {at(3), Woken{}});
  record.back() ^= std::byte{1};
  receive(scheduler_node, JournalPart{7, sent, {reinterpret_cast<const char*>(record.data()), record.size()}},
          103);
  EXPECT_TRUE(sent_of<JournalAck>().empty());
  wake(103.1);
  ASSERT_EQ(sent_of<Follow>().size(), 1u) << "from the beginning";
  EXPECT_EQ(sent_of<Follow>()[0].attempt, 8u);
}

TEST_F(FollowingStandby, ImpossibleTimesAreIgnored) {
  wake(101);
  receive(scheduler_node, Following{7, std::numeric_limits<std::int64_t>::min()}, 101);
  wake(102);
  EXPECT_EQ(sent_of<Follow>().size(), 1u) << "the answer was ignored";
  begin(103);
  send({Time::max(), Woken{}}, 104);
  EXPECT_TRUE(sent_of<JournalAck>().empty());
}

TEST_F(FollowingStandby, OnlyTheShardThatItAskedMayGrant) {
  count();
  wake(104.2);
  receive({Role::shard, 3}, LeaderGrant{7, true}, 104.3);
  EXPECT_FALSE(standby.leads());
  receive(arbiter, LeaderGrant{7, true}, 104.4);
  EXPECT_TRUE(standby.leads());
}

TEST_F(FollowingStandby, ARepeatedPartIsNoGap) {
  begin();
  receive(scheduler_node, JournalPart{7, 0, "x"}, 102);
  wake(102.1);
  EXPECT_TRUE(sent_of<Follow>().empty());
}

TEST_F(FollowingStandby, EndsWithTheJobOrIfItIsRefused) {
  count();
  receive(scheduler_node, Stop{Outcome::finished}, 103);
  EXPECT_TRUE(standby.finished());
  EXPECT_FALSE(standby.leads());
  Standby another = make();
  Outbox out(self);
  another.step(at(1), {scheduler_node, self, Message(ToStandby(Following{7, 0, "no"}))}, out);
  ASSERT_TRUE(another.exit_reason().refusal());
  EXPECT_EQ(another.exit_reason().refusal()->text, "no");
}

TEST_F(FollowingStandby, WithoutServersItDoesNotLead) {
  has_shards = false;
  count();
  wake(104.2);
  EXPECT_TRUE(standby.finished());
  EXPECT_FALSE(standby.leads());
  EXPECT_NE(standby.exit_reason().stop().text.find("start the job again"), std::string::npos);
}

}  // namespace
}  // namespace steelyard::test::standby_test
