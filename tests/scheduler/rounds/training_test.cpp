// The messages from the first round to the end, with a policy that divides equally.
#include "scheduler/rounds/training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "balancing/policies.h"
#include "tests/scheduler/script_words.h"
#include "tests/support/toy_job.h"

namespace steelyard::training_test {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Time at(double seconds) { return Time{} + from_seconds(seconds); }

// Two rounds of 40 positions; a worker, a shard and a checkpointer have joined.
class TrainingTest : public ::testing::Test {
 protected:
  TrainingTest() {
    job.test_samples = 0;
    WorkerMember ann;
    ann.node = {Role::worker, 1};
    ann.name = "ann";
    ann.ready = true;
    members.add(ann);
    ShardMember left;
    left.node = {Role::shard, 1};
    left.loaded = true;
    members.shards.emplace(0, left);
    members.checkpointer = NodeId{Role::checkpointer, 1};
  }
  // The messages that `act` sends, in words.
  template <class Act>
  std::vector<std::string> sent(Act act) {
    Outbox out(scheduler_node);
    act(out);
    std::vector<std::string> words;
    for (const Envelope& envelope : out.take()) words.push_back(test::in_words(envelope));
    return words;
  }
  std::vector<std::string> advance(double when) {
    return sent([&](Outbox& out) { training.advance(at(when), out); });
  }
  std::vector<std::string> begin() {
    training.begin(at(1));
    return advance(1);
  }
  void report(PieceId id, double when) {
    Report report;
    report.term = 1;
    report.piece.round = id - 1;
    report.piece.id = id;
    report.piece.positions = training.rounds().states().back().open().positions;
    Outbox out(scheduler_node);
    EXPECT_TRUE(training.hear(at(when), {Role::worker, 1}, report, out));
  }

  Job job = test::toy_job(80, 40, 1, 1, 1);
  Members members;
  std::list<RoundState> none;
  Admission admission{job, members, none};
  Dispatch dispatch{job, 1, members, admission};
  Training training{job, {}, balancing::make_policy("equal"), members, dispatch};
};

TEST_F(TrainingTest, NothingHappensBeforeItBegins) {
  EXPECT_THAT(advance(1), IsEmpty());
  EXPECT_EQ(training.phase(), Phase::gathering);
}

TEST_F(TrainingTest, ARoundIsOpenedBeforeItIsAssigned) {
  EXPECT_THAT(begin(), ElementsAre(StartsWith("s1 <- BeginRound 0"), StartsWith("w1 <- Start round 0")));
}

TEST_F(TrainingTest, AReportedRoundStartsTheNextAndTheLastIsSaved) {
  begin();
  report(1, 2);
  EXPECT_THAT(advance(2), ElementsAre(StartsWith("* round 0"), StartsWith("s1 <- BeginRound 1"),
                                      StartsWith("w1 <- Start round 1")));
  report(2, 3);
  EXPECT_THAT(advance(3), ElementsAre(StartsWith("* round 1"), StartsWith("k <- Save")));
  EXPECT_EQ(training.phase(), Phase::saving);
}

TEST_F(TrainingTest, AnUnansweredSaveIsRepeated) {
  begin();
  sent([&](Outbox& out) { training.end(at(2), Outcome::finished, "", out); });
  EXPECT_THAT(sent([&](Outbox& out) { training.beat(at(3), out); }), ElementsAre(StartsWith("k <- Save")));
  sent([&](Outbox& out) { training.hear(Saved{0, true, "path"}, out); });
  EXPECT_THAT(advance(4), Contains(StartsWith("w1 <- Stop")));
  EXPECT_EQ(training.phase(), Phase::stopping);
}

// The two seconds in which all members must leave began before the scheduler was killed.
TEST_F(TrainingTest, ARestartAtTheEndRenewsTheTimeToLeave) {
  begin();
  sent([&](Outbox& out) { training.end(at(2), Outcome::finished, "", out); });
  sent([&](Outbox& out) { training.hear(Saved{0, true, "path"}, out); });
  advance(3);
  ASSERT_EQ(training.phase(), Phase::stopping);
  training.restarted(at(100));
  EXPECT_THAT(sent([&](Outbox& out) { training.beat(at(100.5), out); }),
              ElementsAre(StartsWith("w1 <- Stop")));
  EXPECT_EQ(training.phase(), Phase::stopping);
}

TEST_F(TrainingTest, AFailureExplainsTheWayBackAndSavesNothing) {
  begin();
  const auto words = sent([&](Outbox& out) {
    training.fail(at(2), {Outcome::server_lost, "it is gone"}, out);
  });
  EXPECT_THAT(words, IsEmpty());
  EXPECT_EQ(training.shutdown().outcome().text,
            "it is gone; start again: no checkpoint had been written yet");
  EXPECT_THAT(advance(2), Not(Contains(HasSubstr("Save"))));
}

TEST_F(TrainingTest, AnInterruptLetsTheRoundFinish) {
  begin();
  sent([&](Outbox& out) { training.interrupt(at(2), out); });
  EXPECT_THAT(advance(2), IsEmpty());
  EXPECT_EQ(training.phase(), Phase::running);
  report(1, 3);
  advance(3);
  EXPECT_EQ(training.shutdown().outcome().outcome, Outcome::interrupted);
}

TEST_F(TrainingTest, AWorkersRequestEndsTheJobAfterTheRoundAsASuccess) {
  begin();
  sent([&](Outbox& out) { training.hear(at(2), members.workers.at(0), EndRequest::after_round, out); });
  EXPECT_THAT(advance(2), IsEmpty());
  EXPECT_EQ(training.phase(), Phase::running);
  report(1, 3);
  EXPECT_THAT(advance(3), Contains(StartsWith("k <- Save")));
  EXPECT_EQ(training.shutdown().outcome().outcome, Outcome::finished);
  EXPECT_EQ(training.shutdown().outcome().text, "stopped on request of worker 'ann'");
  EXPECT_EQ(training.rounds().done().round(), 1U);
}

TEST_F(TrainingTest, ARequestToEndNowDropsTheOpenRound) {
  begin();
  const auto words =
      sent([&](Outbox& out) { training.hear(at(2), members.workers.at(0), EndRequest::now, out); });
  EXPECT_THAT(words, Contains(StartsWith("k <- Save")));
  EXPECT_EQ(training.phase(), Phase::saving);
  EXPECT_EQ(training.shutdown().outcome().outcome, Outcome::finished);
  EXPECT_EQ(training.rounds().done().round(), 0U);
}

TEST_F(TrainingTest, AWorkerFailureEndsTheJobOnlyIfNoWorkerIsLeft) {
  begin();
  Outbox out(scheduler_node);
  training.end_if_alone(at(2), "it failed", out);
  EXPECT_EQ(training.phase(), Phase::running);
  members.workers.at(0).present = false;
  training.end_if_alone(at(2), "it failed", out);
  EXPECT_EQ(training.shutdown().outcome().outcome, Outcome::worker_failed);
}

}  // namespace
}  // namespace steelyard::training_test
