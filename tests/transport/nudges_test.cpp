#include "transport/nudges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace steelyard::nudges_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr NodeId ada{Role::worker, 1}, bob{Role::worker, 2};
constexpr int to_ada = 10, to_bob = 11;

// Connections with scripted kernel state.
class Kernels : public ::testing::Test {
 protected:
  Kernels() {
    nudges.through(ada, to_ada);
    nudges.through(bob, to_bob);
  }

  // Runs until `end`; returns the peers nudged.
  std::vector<NodeId> until(Time end) {
    std::vector<NodeId> nudged;
    while (nudges.deadline() <= end) {
      now = nudges.deadline();
      for (const NodeId peer : nudges.due(now)) nudged.push_back(peer);
    }
    now = end;
    return nudged;
  }
  std::vector<NodeId> during(Duration span) { return until(now + span); }

  // The kernel has retransmitted a packet to ada, and the link has noticed it.
  void lose_one() {
    ++flights[to_ada].repeated;
    flights[to_ada].unconfirmed = false;
    nudges.sent(ada, now);
    EXPECT_THAT(during(from_seconds(1)), IsEmpty());
  }

  std::map<int, Flight> flights{{to_ada, {false, false, milliseconds(0), 0}}, {to_bob, {}}};
  std::vector<int> looked, lossy;
  Time now{from_seconds(100)};
  Nudges nudges{[this](int descriptor) -> std::optional<Flight> {
                  looked.push_back(descriptor);
                  const auto known = flights.find(descriptor);
                  return known == flights.end() ? std::nullopt : std::optional(known->second);
                },
                [this](int descriptor, const Flight&) { lossy.push_back(descriptor); }};
};

TEST_F(Kernels, AreNotQueriedWhileNothingIsSent) {
  EXPECT_EQ(nudges.deadline(), Time::max());
  EXPECT_THAT(nudges.due(now), IsEmpty());
  EXPECT_THAT(looked, IsEmpty());
}

TEST_F(Kernels, AreQueriedOnceIfAllIsConfirmed) {
  nudges.sent(ada, now);
  EXPECT_THAT(during(from_seconds(10)), IsEmpty());
  EXPECT_THAT(looked, ElementsAre(to_ada));
  EXPECT_EQ(nudges.deadline(), Time::max());
}

TEST_F(Kernels, AreNotQueriedWhileMoreIsSent) {
  for (int i = 0; i < 100; ++i) {
    nudges.sent(ada, now);
    EXPECT_THAT(during(Nudges::patient / 2), IsEmpty());
  }
  EXPECT_THAT(looked, IsEmpty()) << "the next message has the effect of a nudge";
}

TEST_F(Kernels, WithUnconfirmedBytesGetANudge) {
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  nudges.sent(bob, now);
  EXPECT_THAT(during(Nudges::patient), ElementsAre(ada));
}

TEST_F(Kernels, WithUnconfirmedBytesGetALimitedNumberOfNudges) {
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  EXPECT_EQ(during(from_seconds(3600)).size(), static_cast<std::size_t>(Nudges::most_in_a_row));
  nudges.sent(ada, now);
  EXPECT_EQ(during(from_seconds(3600)).size(), static_cast<std::size_t>(Nudges::most_in_a_row))
      << "later messages get the same number";
}

TEST_F(Kernels, ThatConfirmGetNoMoreNudges) {
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  EXPECT_THAT(during(Nudges::patient), ElementsAre(ada));
  flights[to_ada].unconfirmed = false;
  EXPECT_THAT(during(from_seconds(3600)), IsEmpty());
}

TEST_F(Kernels, WithUnsentBytesGetNoNudge) {
  flights[to_ada].unconfirmed = flights[to_ada].unsent = true;
  nudges.sent(ada, now);
  EXPECT_THAT(during(Nudges::patient), IsEmpty()) << "a nudge would wait behind the unsent bytes";
  flights[to_ada].unsent = false;
  EXPECT_THAT(during(2 * Nudges::patient), ElementsAre(ada));
}

TEST_F(Kernels, AreNudgedSoonerAfterALoss) {
  lose_one();
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  EXPECT_THAT(during(Nudges::least), ElementsAre(ada));
  nudges.forget(ada);
  flights[to_bob].unconfirmed = true;
  nudges.sent(bob, now);
  EXPECT_THAT(during(Nudges::patient / 2), IsEmpty()) << "another connection has lost nothing";
}

TEST_F(Kernels, AreNudgedAfterAPartOfTheRoundTrip) {
  flights[to_ada].round_trip = milliseconds(100);
  lose_one();
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  EXPECT_THAT(during(milliseconds(24)), IsEmpty());
  EXPECT_THAT(during(milliseconds(1)), ElementsAre(ada));
}

TEST_F(Kernels, WithoutFurtherLossesAreNudgedLaterAgain) {
  lose_one();
  for (int i = 0; i < 1000; ++i) {
    nudges.sent(ada, now);
    during(from_seconds(1));
  }
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  EXPECT_THAT(during(Nudges::patient / 2), IsEmpty());
}

TEST_F(Kernels, AreReportedOnceAsLossy) {
  nudges.sent(ada, now);
  during(from_seconds(1));
  EXPECT_THAT(lossy, IsEmpty());
  lose_one();
  lose_one();
  EXPECT_THAT(lossy, ElementsAre(to_ada));
}

TEST_F(Kernels, StartWithoutLossesOnANewConnection) {
  lose_one();
  nudges.through(ada, 12);
  flights[12].unconfirmed = true;
  nudges.sent(ada, now);
  EXPECT_THAT(during(Nudges::patient / 2), IsEmpty());
  EXPECT_THAT(during(Nudges::patient), ElementsAre(ada));
  EXPECT_EQ(looked.back(), 12);
}

TEST_F(Kernels, WithoutTcpAreQueriedOnce) {
  flights.erase(to_ada);
  for (int i = 0; i < 3; ++i) {
    nudges.sent(ada, now);
    EXPECT_THAT(during(from_seconds(1)), IsEmpty());
  }
  EXPECT_THAT(looked, ElementsAre(to_ada));
}

TEST_F(Kernels, OfForgottenPeersAreNotQueried) {
  flights[to_ada].unconfirmed = true;
  nudges.sent(ada, now);
  nudges.forget(ada);
  EXPECT_THAT(during(from_seconds(10)), IsEmpty());
  nudges.sent(ada, now);
  EXPECT_THAT(during(from_seconds(10)), IsEmpty());
  EXPECT_THAT(looked, IsEmpty());
}

}  // namespace
}  // namespace steelyard::nudges_test
