#include "wire/lifeline.h"

#include <gtest/gtest.h>

namespace steelyard {
namespace {

constexpr Lifeline::Patience patient{from_seconds(60), from_seconds(0.5), from_seconds(10)};
Time at(double s) { return Time{from_seconds(s)}; }

TEST(Lifeline, SaysHelloAtOnceAndAgainAtEveryBeat) {
  Lifeline line(patient);
  EXPECT_TRUE(line.due(at(100)));
  EXPECT_FALSE(line.due(at(100))) << "asking makes it done";
  EXPECT_EQ(line.deadline(), at(100.5));
  EXPECT_FALSE(line.due(at(100.4)));
  EXPECT_TRUE(line.due(at(100.5)));
  EXPECT_FALSE(line.joined());
}

TEST(Lifeline, GivesUpOnASchedulerThatNeverAnswers) {
  Lifeline line(patient);
  EXPECT_FALSE(line.given_up(at(1000))) << "it has not begun";
  (void)line.due(at(1000));
  EXPECT_FALSE(line.given_up(at(1060)));
  EXPECT_TRUE(line.given_up(at(1060.1)));
  line.heard(at(1059));
  EXPECT_FALSE(line.given_up(at(1060.1)));
}

TEST(Lifeline, WelcomeBringsTheJobsOwnPatience) {
  Lifeline line(patient);
  (void)line.due(at(5));
  line.welcomed(at(6), {from_seconds(60), from_seconds(2), from_seconds(3)});
  EXPECT_TRUE(line.joined());
  EXPECT_TRUE(line.due(at(6))) << "the first beat at once";
  EXPECT_EQ(line.deadline(), at(8));
  EXPECT_FALSE(line.given_up(at(9)));
  EXPECT_TRUE(line.given_up(at(9.1)));
  line.heard(at(9));
  EXPECT_FALSE(line.given_up(at(12)));
}

}  // namespace
}  // namespace steelyard
