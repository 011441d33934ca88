#include "protocol/session.h"

#include <gtest/gtest.h>

namespace steelyard::session_test {
namespace {

constexpr Session::Timeouts patient{from_seconds(60), from_seconds(0.5)};
Time at(double s) { return Time{from_seconds(s)}; }

TEST(Session, SaysHelloAtOnceAndAgainAtEveryBeat) {
  Session line(patient);
  EXPECT_TRUE(line.due(at(100)));
  EXPECT_FALSE(line.due(at(100))) << "asking makes it done";
  EXPECT_EQ(line.deadline(), at(100.5));
  EXPECT_FALSE(line.due(at(100.4)));
  EXPECT_TRUE(line.due(at(100.5)));
  EXPECT_FALSE(line.joined());
}

TEST(Session, GivesUpOnASchedulerThatNeverAnswers) {
  Session line(patient);
  EXPECT_FALSE(line.given_up(at(1000))) << "it has not begun";
  (void)line.due(at(1000));
  EXPECT_FALSE(line.given_up(at(1060)));
  EXPECT_TRUE(line.given_up(at(1060.1)));
  line.heard(at(1059));
  EXPECT_FALSE(line.given_up(at(1060.1)));
}

TEST(Session, WelcomeBringsTheJobsHeartbeat) {
  Session line(patient);
  (void)line.due(at(5));
  line.welcomed(at(6), from_seconds(2), from_seconds(3));
  EXPECT_TRUE(line.joined());
  EXPECT_TRUE(line.due(at(6))) << "the first beat at once";
  EXPECT_EQ(line.deadline(), at(8));
}

TEST(Session, ASilenceThatMakesOthersCallItLostIsBorne) {
  Session line(patient);
  (void)line.due(at(5));
  line.welcomed(at(6), from_seconds(2), from_seconds(3));
  EXPECT_FALSE(line.given_up(at(66)));
  EXPECT_TRUE(line.due(at(66))) << "it goes on giving signs of life";
  EXPECT_TRUE(line.given_up(at(66.1)));
  line.heard(at(66));
  EXPECT_FALSE(line.given_up(at(126)));
}

TEST(Session, IsAsPatientAsTheScheduler) {
  Session line({from_seconds(1), from_seconds(0.5)});
  (void)line.due(at(5));
  line.welcomed(at(6), from_seconds(2), from_seconds(30));
  EXPECT_FALSE(line.given_up(at(36)));
  EXPECT_TRUE(line.given_up(at(36.1)));
}

}  // namespace
}  // namespace steelyard::session_test
