#include "balancing/policy/steelyard/move.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::links_test {
namespace {

// Links after `rounds` rounds in which three workers waited this long (s) for their parameters.
Links after(int rounds, double first, double second, double third) {
  Links links;
  for (int k = 1; k <= rounds; ++k) {
    LastRound last;
    const double exchange[] = {first, second, third};
    for (std::uint32_t slot = 0; slot < 3; ++slot)
      last.add({.slot = slot, .round = 1, .samples = 10, .seconds = 1, .exchange = exchange[slot]});
    links.observe(last, {});
  }
  return links;
}

TEST(Links, ALinkCountsTwiceItsExcessOverTheBest) {
  const Links links = after(10, 2, 2, 5);
  EXPECT_DOUBLE_EQ(links.seconds(0), 0);
  EXPECT_DOUBLE_EQ(links.seconds(1), 0);
  EXPECT_DOUBLE_EQ(links.seconds(2), 6);
  EXPECT_EQ(links.seconds(7), 0) << "no worker has slot 7";
}

TEST(Links, NothingIsKnownIfAWorkerReportsNoExchange) { EXPECT_EQ(after(10, -1, 2, 5).seconds(2), 0); }

TEST(Links, ForgetsWorkersThatLeft) {
  Links links = after(10, 2, 2, 5);
  links.forget_all_but({0, 1});
  EXPECT_EQ(links.seconds(2), 0);
}

TEST(Links, OneMeasurementAfterARestIsAChange) {
  Links links = after(10, 2, 2, 5);
  LastRound last;
  for (std::uint32_t slot = 0; slot < 3; ++slot)
    last.add({.slot = slot, .round = 1, .samples = 10, .seconds = 1, .exchange = 2});
  links.observe(last, {2});
  EXPECT_TRUE(links.changed(2));
  EXPECT_EQ(links.seconds(2), 0);
}

}  // namespace
}  // namespace steelyard::balancing::links_test
