// Which workers make no progress.
#include "scheduler/rounds/progress_monitor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scheduler/members/liveness.h"
#include "tests/support/toy_job.h"

namespace steelyard::progress_monitor_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

constexpr NodeId left{Role::shard, 1};

class ProgressMonitorTest : public ::testing::Test {
 protected:
  ProgressMonitorTest() {
    job.heartbeat_timeout = 10;
    job.heartbeat = 1;
    ShardMember shard;
    shard.node = left;
    shard.name = "left";
    shard.last_heard = at(0);
    members.shards.emplace(0, shard);
    add(0, "ann");
    add(1, "ben");
  }
  void add(std::uint32_t slot, const std::string& name) {
    WorkerMember worker;
    worker.node = {Role::worker, slot + 1};
    worker.slot = slot;
    worker.name = name;
    worker.ready = true;
    worker.last_heard = at(1000);
    members.add(worker);
  }
  // Ann holds a piece; the servers in `unreached` do not answer it.
  void beat(double when, std::uint64_t progress, std::vector<NodeId> unreached = {}) {
    ann().progress.heard(at(when), {1, {1}, 0, std::move(unreached), progress});
  }
  void owe_a_piece_since(double when) {
    RoundState round(BeginRound{1, 0, 0, {0, 10}, 10, false, false}, Purpose::train, at(when));
    round.add(1, {{0, 10}, 0});
    round.possible = at(when);
    rounds.push_back(round);
  }
  WorkerMember& ann() { return members.workers.at(0); }

  Job job = test::toy_job(80, 40, 1, 2, 1);
  Members members;
  std::list<RoundState> rounds;
  ProgressMonitor watch{job, members, rounds};
};

// Long before it counts as lost: it hangs, and others can compute its pieces.
TEST_F(ProgressMonitorTest, AWorkerThatOwesAndIsUnusuallySilentIsStalled) {
  beat(10, 1);
  ann().last_heard = at(10);
  EXPECT_FALSE(watch.is_stalled(at(15), ann())) << "it owes nothing";
  owe_a_piece_since(10);
  EXPECT_FALSE(watch.is_stalled(at(13.9), ann()));
  EXPECT_TRUE(watch.is_stalled(at(14.1), ann()));
  EXPECT_THAT(watch.what_is_missing(at(14.1), ann()), HasSubstr("has been silent"));
  heard(ann(), at(15));
  ann().last_heard = at(15);
  EXPECT_FALSE(watch.is_stalled(at(34), ann())) << "it is often silent for five seconds";
}

TEST_F(ProgressMonitorTest, AWorkerThatOwesAndStandsStillIsStalled) {
  beat(1, 5);
  EXPECT_FALSE(watch.is_stalled(at(1000), ann())) << "it owes nothing";
  owe_a_piece_since(1);
  EXPECT_FALSE(watch.is_stalled(at(2), ann()));
  EXPECT_TRUE(watch.is_stalled(at(1000), ann()));
  rounds.back().possible.reset();
  EXPECT_FALSE(watch.is_stalled(at(1000), ann())) << "the parameters are not there yet";
}

// Pushes of its reported pieces may be missing at the server that it cannot reach.
TEST_F(ProgressMonitorTest, ACutOffWorkerIsStalledEvenIfItOwesNothing) {
  ann().progress.heard(at(1), {1, {}, 0, {left}, 5});
  EXPECT_FALSE(watch.is_stalled(at(10), ann()));
  EXPECT_TRUE(watch.is_stalled(at(12), ann()));
  members.workers.at(1).present = false;
  EXPECT_FALSE(watch.is_stalled(at(12), ann())) << "no other worker is present";
}

TEST_F(ProgressMonitorTest, TheOnlyWorkerIsNeverStalled) {
  owe_a_piece_since(1);
  members.workers.at(1).present = false;
  EXPECT_FALSE(watch.is_stalled(at(1000), ann()));
}

TEST_F(ProgressMonitorTest, AStalledWorkerRecoversOnceItHoldsNothingOrProgresses) {
  const WorkerBeat empty{1, {}, 0, {}, 5}, holding{1, {1}, 0, {}, 5}, cut_off{1, {}, 0, {left}, 5};
  beat(1, 5);
  EXPECT_FALSE(ProgressMonitor::gets_on_again(at(9), ann(), empty)) << "it was not stalled";
  ann().stalled = true;
  EXPECT_TRUE(ProgressMonitor::gets_on_again(at(9), ann(), empty));
  EXPECT_FALSE(ProgressMonitor::gets_on_again(at(9), ann(), cut_off));
  EXPECT_FALSE(ProgressMonitor::gets_on_again(at(9), ann(), holding));
  beat(9, 6);
  EXPECT_TRUE(ProgressMonitor::gets_on_again(at(9), ann(), holding));
}

TEST_F(ProgressMonitorTest, ACutOffWorkerDelaysNoStartAndIsNamed) {
  ann().ready = false;
  EXPECT_FALSE(watch.enough_workers(at(0)));
  beat(1, 0, {left});
  EXPECT_FALSE(watch.enough_workers(at(5)));
  EXPECT_TRUE(watch.enough_workers(at(12)));
  EXPECT_THAT(watch.what_is_missing(at(13), ann()),
              AllOf(HasSubstr("'ann'"), HasSubstr("'left'"), HasSubstr("12 s"), HasSubstr("--advertise")));
}

TEST_F(ProgressMonitorTest, MissingMembersAreReportedAtIntervals) {
  EXPECT_THAT(watch.waiting_for(at(0)), IsEmpty());
  EXPECT_THAT(watch.waiting_for(at(31)),
              ElementsAre(AllOf(HasSubstr("1 of 1 shards"), HasSubstr("2 of 2 workers"))));
  EXPECT_THAT(watch.waiting_for(at(32)), IsEmpty());
}

TEST_F(ProgressMonitorTest, ShardsAnswerOnlyIfAllHaveSentBeats) {
  EXPECT_TRUE(watch.shards_answer(at(2)));
  EXPECT_FALSE(watch.shards_answer(at(2.1)));
  members.shards.at(0).last_heard = at(2.1);
  EXPECT_TRUE(watch.shards_answer(at(2.1)));
  members.shards.at(0).broken = true;
  EXPECT_FALSE(watch.shards_answer(at(2.1)));
}

}  // namespace
}  // namespace steelyard::progress_monitor_test
