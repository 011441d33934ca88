#include "worker/compute/local_stepper.h"

#include <gtest/gtest.h>

namespace steelyard::step_function_test {
namespace {

StepFunction stairs(std::string_view text) {
  const auto read = StepFunction::read(text, 1, 1000);
  EXPECT_TRUE(read) << text;
  return read.value_or(StepFunction(-1));
}

TEST(StepFunction, MayBeConstant) {
  for (const double time : {0.0, 1.0, 1e9}) EXPECT_EQ(stairs("2.5").at(time), 2.5);
  EXPECT_EQ(StepFunction(7).at(3), 7);
}

TEST(StepFunction, ChangesAtItsTimes) {
  const StepFunction it = stairs("2, 6@1.5,2@ 3");
  EXPECT_EQ(it.at(0), 2);
  EXPECT_EQ(it.at(1.49), 2);
  EXPECT_EQ(it.at(1.5), 6);
  EXPECT_EQ(it.at(2.99), 6);
  EXPECT_EQ(it.at(3), 2);
  EXPECT_EQ(it.at(1e9), 2);
}

TEST(StepFunction, RepeatsFromAgain) {
  const StepFunction it = stairs("1, 6@1, again@4");
  for (const double begin : {0.0, 4.0, 400.0}) {
    EXPECT_EQ(it.at(begin), 1);
    EXPECT_EQ(it.at(begin + 0.9), 1);
    EXPECT_EQ(it.at(begin + 1), 6);
    EXPECT_EQ(it.at(begin + 3.9), 6);
  }
}

TEST(StepFunction, KnowsWhetherItIsConstant) {
  EXPECT_TRUE(stairs("1").is_always(1));
  EXPECT_TRUE(stairs("1, 1@5").is_always(1));
  EXPECT_FALSE(stairs("1, 2@5").is_always(1));
  EXPECT_FALSE(stairs("1").is_always(2));
}

TEST(StepFunction, RefusesInvalidText) {
  for (const char* bad : {"",
                          " ",
                          ",",
                          "fast",
                          "0.5",
                          "-1",
                          "0",
                          "nan",
                          "inf",
                          "1001",
                          "1e999",
                          "2x",
                          "2,",
                          "2, ",
                          ",2",
                          "2,,3@1",
                          "2, 3",
                          "2@0",
                          "2@5",
                          "2, 3@",
                          "2, @3",
                          "2, 3@x",
                          "2, 3@inf",
                          "2, 3@nan",
                          "2, 3@-1",
                          "2, 3@0",
                          "2, 3@2, 4@2",
                          "2, 3@2, 4@1",
                          "2, 0.5@3",
                          "2, 3@4@5",
                          "again",
                          "again@3",
                          "2, again",
                          "2, again@0",
                          "2, 3@2, again@2",
                          "2, again@3, 4@5",
                          "2, again@3, again@5"}) {
    EXPECT_FALSE(StepFunction::read(bad, 1, 1000)) << bad;
  }
  for (const char* good : {"1", "1000", " 2 ", "2,3@1", "2, again@3", "2 , 3 @ 4 , again @ 5"}) {
    EXPECT_TRUE(StepFunction::read(good, 1, 1000)) << good;
  }
}

}  // namespace
}  // namespace steelyard::step_function_test
