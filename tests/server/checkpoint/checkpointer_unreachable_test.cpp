// A checkpointer and a server that it cannot connect to.
#include "server/checkpoint/checkpointer.h"

#include "tests/server/checkpoint/checkpointer_case.h"

namespace steelyard::checkpointer_unreachable_test {
namespace {

using test::left;
using test::right;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointerUnreachable : public test::CheckpointerCase {};

TEST_F(CheckpointerUnreachable, AnEndpointThatMakesNoSenseIsTold) {
  tell(scheduler_node, roster());
  tell(link_node, Unreachable{right, "tcp://b:2", "cannot connect to tcp://b:2"});
  wake(0.5);
  const auto silent = heard<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].node, right);
  EXPECT_EQ(silent[0].why, "cannot connect to tcp://b:2");
}

TEST_F(CheckpointerUnreachable, WhatKeepsItFromAShardIsToldUntilThatIsOver) {
  const auto silent = [&] {
    wake(0.5);
    return heard<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  };
  tell(scheduler_node, roster());
  tell(link_node, Unreachable{right, "tcp://b:2", "its list does not let us in"});
  EXPECT_EQ(silent().size(), 1U);
  tell(link_node, Disconnected{right});
  EXPECT_THAT(silent(), IsEmpty()) << "it was connected";
  tell(link_node, Unreachable{right, "tcp://b:2", "its list does not let us in"});
  tell(right, StateRequest{2, {}, true});
  EXPECT_THAT(silent(), IsEmpty()) << "it was heard";
}

TEST_F(CheckpointerUnreachable, ACheckpointThatIsGivenUpSaysWhatKeptItFromTheShard) {
  tell(scheduler_node, roster());
  tell(scheduler_node, save(8));
  tell(link_node, Unreachable{right, "tcp://b:2", "its list does not let us in"});
  for (int i = 0; i < 100; ++i) {
    tell(left, NotYet{8});
    wake(1);
    if (!told().empty()) break;
  }
  ASSERT_EQ(told().size(), 1U);
  EXPECT_FALSE(told()[0].ok);
  EXPECT_THAT(told()[0].text, HasSubstr("its list does not let us in"));
}

}  // namespace
}  // namespace steelyard::checkpointer_unreachable_test
