#include "protocol/session.h"

#include <gtest/gtest.h>

namespace steelyard::session_test {
namespace {

constexpr Session::Timeouts patient{from_seconds(60), from_seconds(0.5)};
Time at(double s) { return Time{from_seconds(s)}; }

TEST(Session, SendsHelloAtOnceAndAtEveryBeat) {
  Session session(patient);
  EXPECT_TRUE(session.due(at(100)));
  EXPECT_FALSE(session.due(at(100))) << "due() counts as sent";
  EXPECT_EQ(session.deadline(), at(100.5));
  EXPECT_FALSE(session.due(at(100.4)));
  EXPECT_TRUE(session.due(at(100.5)));
  EXPECT_FALSE(session.joined());
}

TEST(Session, GivesUpIfTheSchedulerNeverAnswers) {
  Session session(patient);
  EXPECT_FALSE(session.given_up(at(1000))) << "nothing has been sent yet";
  (void)session.due(at(1000));
  EXPECT_FALSE(session.given_up(at(1060)));
  EXPECT_TRUE(session.given_up(at(1060.1)));
  session.heard(at(1059));
  EXPECT_FALSE(session.given_up(at(1060.1)));
}

TEST(Session, WelcomeBringsTheJobsHeartbeat) {
  Session session(patient);
  (void)session.due(at(5));
  session.welcomed(at(6), from_seconds(2), from_seconds(3));
  EXPECT_TRUE(session.joined());
  EXPECT_TRUE(session.due(at(6))) << "the first heartbeat is due at once";
  EXPECT_EQ(session.deadline(), at(8));
}

TEST(Session, ToleratesSilenceBeyondTheHeartbeatTimeout) {
  Session session(patient);
  (void)session.due(at(5));
  session.welcomed(at(6), from_seconds(2), from_seconds(3));
  EXPECT_FALSE(session.given_up(at(66)));
  EXPECT_TRUE(session.due(at(66))) << "heartbeats continue";
  EXPECT_TRUE(session.given_up(at(66.1)));
  session.heard(at(66));
  EXPECT_FALSE(session.given_up(at(126)));
}

TEST(Session, WaitsAtLeastTheSchedulersTimeout) {
  Session session({from_seconds(1), from_seconds(0.5)});
  (void)session.due(at(5));
  session.welcomed(at(6), from_seconds(2), from_seconds(30));
  EXPECT_FALSE(session.given_up(at(36)));
  EXPECT_TRUE(session.given_up(at(36.1)));
}

}  // namespace
}  // namespace steelyard::session_test
