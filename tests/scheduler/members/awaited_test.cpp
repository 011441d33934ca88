#include "scheduler/members/awaited.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::awaited_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Time at(double seconds) { return Time{} + from_seconds(1000 + seconds); }

class AwaitedTest : public testing::Test {
 protected:
  AwaitedTest() {
    server.name = "right";
    server.endpoint = "tcp://10.0.0.2:7071";
    server.last_heard = at(0);
  }
  [[nodiscard]] EndOfWait end(double seconds, bool told_to_end = false) const {
    return end_of_wait(server, at(seconds), Time{}, told_to_end, job);
  }
  void closes(double seconds) {
    server.broken = true;
    server.broken_since = at(seconds);
  }

  Job job;
  ShardMember server;
};

TEST_F(AwaitedTest, SilenceAloneNeverEndsTheWait) {
  EXPECT_EQ(end(11), EndOfWait::none);
  EXPECT_EQ(end(1e6), EndOfWait::none);
}

TEST_F(AwaitedTest, AConnectionThatStaysClosedIsProof) {
  closes(1);
  EXPECT_EQ(end(10.9), EndOfWait::none);
  EXPECT_EQ(end(11.1), EndOfWait::proof);
}

TEST_F(AwaitedTest, TheReconnectTimeStartsWhenTheConnectionCloses) {
  closes(100);
  EXPECT_EQ(end(105), EndOfWait::none);
  EXPECT_EQ(end(111), EndOfWait::proof);
  EXPECT_EQ(end_of_wait(server, at(111), at(105), false, job), EndOfWait::none)
      << "no member could send a message before 105 s";
}

TEST_F(AwaitedTest, ServerWaitOrAnInterruptEndsTheWait) {
  EXPECT_EQ(end(11, true), EndOfWait::told_to_end);
  job.server_wait = 60;
  EXPECT_EQ(end(59), EndOfWait::none);
  EXPECT_EQ(end(61), EndOfWait::time_is_up);
}

TEST_F(AwaitedTest, TheMessageNamesTheServerTheDurationAndTheRemedy) {
  EXPECT_THAT(waits_for(server, at(12), job),
              AllOf(HasSubstr("'right' at tcp://10.0.0.2:7071"), HasSubstr("12 s"), HasSubstr("kill -CONT"),
                    HasSubstr("Ctrl-C"), Not(HasSubstr("server_wait"))));
  job.server_wait = 600;
  EXPECT_THAT(waits_for(server, at(12), job), HasSubstr("for 600 s at most (cluster.server_wait)"));
  EXPECT_THAT(is_back(server, at(30)), AllOf(HasSubstr("'right'"), HasSubstr("30 s")));
  EXPECT_THAT(lost_with_its_part(server, EndOfWait::time_is_up), HasSubstr("cluster.server_wait"));
}

}  // namespace
}  // namespace steelyard::awaited_test
