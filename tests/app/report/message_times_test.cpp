#include "app/report/message_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::message_times_test {
namespace {

using testing::ContainsRegex;

TEST(MessageTimes, AreListedByKindAndRoles) {
  MessageTimes times;
  for (int i = 1; i <= 11; ++i)
    times.travelled("push " + std::to_string(i) + "/0", "worker-1", "shard-a", 10.0 * i);
  times.travelled("push 7/0", "worker-2", "shard-b", 60);
  times.travelled("report 7", "worker-2", "scheduler", 5);
  times.handled("Push", "shard-a", 2.5);
  const std::string table = times.table();
  EXPECT_THAT(table, ContainsRegex("microseconds +number +median +90 %\n"));
  EXPECT_THAT(table, ContainsRegex("push, worker to shard +12 +60.0 +90.0\n"));
  EXPECT_THAT(table, ContainsRegex("report, worker to scheduler +1 +5.0 +5.0\n"));
  EXPECT_THAT(table, ContainsRegex("shard handles Push +1 +2.5 +2.5\n"));
}

TEST(MessageTimes, NothingWithoutMessages) { EXPECT_EQ(MessageTimes().table(), ""); }

}  // namespace
}  // namespace steelyard::message_times_test
