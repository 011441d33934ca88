#include "worker/compute/thread_count.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "core/error.h"
#include "core/processor.h"

namespace steelyard::thread_count_test {
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

TEST(ThreadCount, AutoIsTheNumberOfAllowedCores) {
  EXPECT_EQ(thread_count("auto"), allowed_cores());
  EXPECT_EQ(thread_count("auto-1"), std::max(2U, allowed_cores()) - 1);
  EXPECT_EQ(thread_count("auto-1024"), 1U) << "one is always left";
  for (const char* text : {"auto-0", "auto-", "auto--1", "auto-1025", "auto2"})
    EXPECT_FALSE(is_thread_count(text)) << text;
}

TEST(ThreadCount, LeavesTheCoresThatOthersNeed) {
  EXPECT_EQ(thread_count_beside("auto", 0), "auto");
  EXPECT_EQ(thread_count_beside("auto", 3), "auto-3");
  EXPECT_EQ(thread_count_beside("4", 3), "4") << "a given number stays";
  EXPECT_EQ(thread_count_beside("auto-1", 3), "auto-1");
  EXPECT_TRUE(is_thread_count(thread_count_beside("auto", 100'000)));
}

}  // namespace
}  // namespace steelyard::thread_count_test
