// A checkpointer that cannot connect to a server.
#include "server/checkpoint/checkpointer.h"

#include "tests/server/checkpoint/checkpointer_case.h"

namespace steelyard::checkpointer_unreachable_test {
namespace {

using test::left;
using test::right;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CheckpointerUnreachable : public test::CheckpointerCase {};

TEST_F(CheckpointerUnreachable, AnUnusableEndpointIsReported) {
  deliver(scheduler_node, roster());
  deliver(link_node, Unreachable{right, "tcp://b:2", "cannot connect to tcp://b:2"});
  wake(0.5);
  const auto silent = sent<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  ASSERT_EQ(silent.size(), 1U);
  EXPECT_EQ(silent[0].node, right);
  EXPECT_EQ(silent[0].why, "cannot connect to tcp://b:2");
}

TEST_F(CheckpointerUnreachable, TheReasonIsReportedUntilTheShardConnects) {
  const auto silent = [&] {
    wake(0.5);
    return sent<ToScheduler, CheckpointerBeat>().at(0).second.silent;
  };
  deliver(scheduler_node, roster());
  deliver(link_node, Unreachable{right, "tcp://b:2", "its list does not let us in"});
  EXPECT_EQ(silent().size(), 1U);
  deliver(link_node, Disconnected{right});
  EXPECT_THAT(silent(), IsEmpty()) << "a disconnected shard was connected before";
  deliver(link_node, Unreachable{right, "tcp://b:2", "its list does not let us in"});
  deliver(right, StateRequest{2, {}, true});
  EXPECT_THAT(silent(), IsEmpty()) << "the shard has sent a message";
}

TEST_F(CheckpointerUnreachable, AFailedCheckpointNamesTheReason) {
  deliver(scheduler_node, roster());
  deliver(scheduler_node, save(8));
  deliver(link_node, Unreachable{right, "tcp://b:2", "its list does not let us in"});
  for (int i = 0; i < 100; ++i) {
    deliver(left, NotYet{8});
    wake(1);
    if (!saved().empty()) break;
  }
  ASSERT_EQ(saved().size(), 1U);
  EXPECT_FALSE(saved()[0].ok);
  EXPECT_THAT(saved()[0].text, HasSubstr("its list does not let us in"));
}

}  // namespace
}  // namespace steelyard::checkpointer_unreachable_test
