// Each test breaks the state of a sound scheduler in one way, and the checker must notice it.
#include "scheduler/rounds/invariants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scheduler/transcript_script.h"

namespace steelyard::invariants_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InvariantsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* line : {"job samples=96 batch=32 workers=2 shards=1", "s1: Hello left", "w1: Hello ann",
                             "w2: Hello ben", "w1: Ready", "w2: Ready", "s1: Beat loaded"}) {
      script.run(line);
    }
    ASSERT_THAT(check(), IsEmpty());
    ASSERT_EQ(round().pieces().size(), 2U);
  }
  [[nodiscard]] const Scheduler& scheduler() const { return script.scheduler(); }
  std::string check() { return invariants.check(scheduler()); }
  // The scheduler belongs to this test and is not const, so its state may be changed.
  RoundState& round() { return const_cast<RoundState&>(scheduler().rounds().back()); }
  Members& members() { return const_cast<Members&>(scheduler().members()); }

  test::Script script;
  Invariants invariants;
};

TEST_F(InvariantsTest, AMissingPieceIsSeen) {
  round().remove(1);
  EXPECT_THAT(check(), HasSubstr("do not cover"));
}

TEST_F(InvariantsTest, OverlappingPiecesAreSeen) {
  OwedPiece more = *round().find(1);
  round().add(99, more);
  EXPECT_THAT(check(), HasSubstr("overlap"));
}

TEST_F(InvariantsTest, PiecesOutsideTheRoundAreSeen) {
  round().find(2)->positions.end = 33;
  EXPECT_THAT(check(), HasSubstr("outside"));
  round().find(2)->positions = {16, 16};
  EXPECT_THAT(check(), HasSubstr("outside")) << "an empty piece";
}

TEST(InvariantsOfGrains, ABorderInsideAGrainIsSeen) {
  test::Script script;
  for (const char* line : {"job samples=96 batch=32 grain=8 workers=2 shards=1", "s1: Hello left",
                           "w1: Hello ann", "w2: Hello ben", "w1: Ready", "w2: Ready", "s1: Beat loaded"}) {
    script.run(line);
  }
  Invariants invariants;
  EXPECT_THAT(invariants.check(script.scheduler()), IsEmpty());
  auto& round = const_cast<RoundState&>(script.scheduler().rounds().back());
  round.find(1)->positions.end = round.find(2)->positions.begin = 17;
  EXPECT_THAT(invariants.check(script.scheduler()), HasSubstr("inside a grain"));
}

TEST_F(InvariantsTest, APieceOwedByALostWorkerIsSeen) {
  members().workers.at(0).present = false;
  EXPECT_THAT(check(), HasSubstr("owed by a lost worker"));
  round().find(1)->reported = true;
  EXPECT_THAT(check(), IsEmpty()) << "its piece is reported";
  members().workers.at(0).present = true;
  round().find(2)->owner = 17;
  EXPECT_THAT(check(), HasSubstr("owed by a lost worker"));
}

TEST_F(InvariantsTest, AnOrphanedPieceIsSeenIfAWorkerIsPresent) {
  round().find(1)->owner.reset();
  EXPECT_THAT(check(), HasSubstr("has no owner"));
  round().find(2)->owner.reset();
  members().workers.at(0).present = false;
  members().workers.at(1).present = false;
  EXPECT_THAT(check(), IsEmpty()) << "no worker is present to owe it";
}

TEST_F(InvariantsTest, RoundsOutOfOrderAreSeen) {
  auto& rounds = const_cast<std::list<RoundState>&>(scheduler().rounds());
  rounds.push_back(rounds.back());
  EXPECT_THAT(check(), HasSubstr("two states of one round"));
}

TEST_F(InvariantsTest, ARoundBegunDuringAnEvaluationIsSeen) {
  auto& rounds = const_cast<std::list<RoundState>&>(scheduler().rounds());
  RoundState evaluation(BeginRound{1, 0, 0, {0, 10}, 0, false, false}, Purpose::evaluate, Time{});
  evaluation.add(50, {{0, 10}, 0});
  rounds.push_front(evaluation);
  RoundState later(BeginRound{1, 1, 0, {32, 64}, 32, false, false}, Purpose::train, Time{});
  later.add(51, {{32, 64}, 0});
  rounds.back() = later;
  EXPECT_THAT(check(), HasSubstr("during an evaluation"));
}

TEST_F(InvariantsTest, DecreasingNumbersAreSeen) {
  script.run("w1: Report 1");
  script.run("w2: Report 2");
  ASSERT_EQ(scheduler().cursor().round(), 1U);
  ASSERT_THAT(check(), IsEmpty());
  test::Script younger;
  younger.run("job samples=96 batch=32 workers=2 shards=1");
  EXPECT_THAT(invariants.check(younger.scheduler()), HasSubstr("round went back"));
  younger.run("job samples=96 batch=16 version=5 offset=16 workers=2 shards=1");
  EXPECT_THAT(invariants.check(younger.scheduler()), HasSubstr("position in the data went back"));
  younger.run("job samples=96 batch=32 version=5 offset=32 workers=2 shards=1");
  EXPECT_THAT(invariants.check(younger.scheduler()), HasSubstr("phase went back"));
}

}  // namespace
}  // namespace steelyard::invariants_test
