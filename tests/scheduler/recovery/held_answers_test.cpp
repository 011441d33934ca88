// Answers leave in order, and none before the journal records that it follows from are stored.
#include "scheduler/recovery/journaled.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/heard.h"

namespace steelyard::held_answers_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class HeldAnswersTest : public testing::Test {
 protected:
  static std::vector<Envelope> answers(std::initializer_list<Round> rounds) {
    Outbox outbox(scheduler_node);
    for (const Round round : rounds) outbox.send<ToWorker>({Role::worker, 1}, VersionExpired{round, 0});
    return outbox.take();
  }
  std::vector<Round> left(HeldAnswers& held, std::uint64_t have) {
    Outbox out(scheduler_node);
    held.release(have, out);
    std::vector<Round> rounds;
    for (const VersionExpired& it : test::heard<VersionExpired>(out.take())) rounds.push_back(it.wanted);
    return rounds;
  }
};

TEST_F(HeldAnswersTest, LeaveInOrderOnceTheJournalIsStored) {
  HeldAnswers held;
  held.hold(answers({1, 2}), 10);
  held.hold(answers({3}), 20);
  held.hold(answers({4}), 20);
  held.hold(answers({5}), 31);
  EXPECT_THAT(left(held, 9), IsEmpty());
  EXPECT_THAT(left(held, 10), ElementsAre(1, 2));
  EXPECT_THAT(left(held, 30), ElementsAre(3, 4));
  EXPECT_FALSE(held.empty());
  EXPECT_THAT(left(held, 31), ElementsAre(5));
  EXPECT_TRUE(held.empty());
}

TEST_F(HeldAnswersTest, TheNumberOfHeldAnswersIsLimited) {
  HeldAnswers held(3);
  held.hold(answers({1, 2}), 1);
  held.hold(answers({3, 4}), 2);
  held.hold(answers({5}), 3);
  EXPECT_THAT(left(held, 3), ElementsAre(1, 2, 5)) << "3 and 4 did not fit";
  held.hold(answers({6, 7, 8}), 4);
  EXPECT_THAT(left(held, 4), ElementsAre(6, 7, 8)) << "there is room again";
}

TEST_F(HeldAnswersTest, DroppedAnswersDoNotLeave) {
  HeldAnswers held(2);
  held.hold(answers({1, 2}), 1);
  held.drop_all();
  EXPECT_TRUE(held.empty());
  held.hold(answers({3, 4}), 2);
  EXPECT_THAT(left(held, 9), ElementsAre(3, 4));
}

}  // namespace
}  // namespace steelyard::held_answers_test
