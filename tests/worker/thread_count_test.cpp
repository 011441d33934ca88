#include "worker/compute/thread_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include "core/error.h"

namespace steelyard {
namespace {

using ::testing::HasSubstr;

TEST(ThreadCount, IsANumberOrAuto) {
  EXPECT_EQ(thread_count("1"), 1U);
  EXPECT_EQ(thread_count("1024"), 1024U);
  for (const char* text : {"0", "-1", "1025", "1.5", "two", "", "auto ", "4294967297"}) {
    EXPECT_FALSE(is_thread_count(text)) << text;
    EXPECT_THROW(thread_count(text), Failure) << text;
  }
  EXPECT_TRUE(is_thread_count("auto"));
  EXPECT_THAT(thread_count_expected(), HasSubstr("a number from 1 to 1024, or \"auto\""));
}

TEST(ThreadCount, AutoIsTheCoresThatTheProcessMayUse) {
  cpu_set_t before, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  EXPECT_EQ(thread_count("auto"), static_cast<unsigned>(CPU_COUNT(&before)));
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(thread_count("auto"), 1U);
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

}  // namespace
}  // namespace steelyard
