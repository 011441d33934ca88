#include "balancing/policy/steelyard/move.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::waits_test {
namespace {

const Request request{1, 40, {{.slot = 0}, {.slot = 1}, {.slot = 2}}};
const std::vector<Affine> curves{{0, 0.1}, {0, 0.1}, {0, 0.2}};

// Waits after a hundred rounds in which the three workers took these times (s).
Waits after(double first, double second, double third, double exchange, double link = 0) {
  Waits waits;
  const double seconds[] = {first, second, third};
  for (int k = 0; k < 100; ++k) {
    LastRound last;
    for (std::uint32_t slot = 0; slot < 3; ++slot)
      last.add({.slot = slot, .round = 1, .samples = 10, .seconds = seconds[slot], .exchange = exchange});
    waits.observe(request, last, curves, {link, 0, 0});
  }
  return waits;
}

TEST(Waits, OnlyTheSlowestWorkerIsWaitedFor) {
  const Waits waits = after(1, 1.5, 2, 0);
  EXPECT_EQ(waits.surely(0), 0);
  EXPECT_EQ(waits.surely(1), 0);
  EXPECT_NEAR(waits.surely(2), 0.5, 1e-9);
}

TEST(Waits, SlowLinksAreWaitedForToo) { EXPECT_NEAR(after(1, 1.5, 2, 0, 3).surely(0), 2, 1e-9); }

TEST(Waits, NoWorkerIsLateWithoutABarrier) {
  const Waits waits = after(1, 1.5, 2, -1);
  EXPECT_EQ(waits.surely(2), 0);
  EXPECT_GT(waits.worth(2), 0) << "its worth is still measured";
}

// The two other workers would compute its ten samples at 0.1 and 0.2 s a sample.
TEST(Waits, AWorkerIsWorthTheTimeThatOthersWouldNeed) {
  EXPECT_NEAR(after(1, 1, 1, 0).worth(0), 10 / (10.0 + 5), 1e-9);
}

TEST(Waits, ForgetsWorkersThatLeft) {
  Waits waits = after(1, 1.5, 2, 0);
  waits.forget_all_but({0, 1});
  EXPECT_EQ(waits.surely(2), 0);
  EXPECT_EQ(waits.worth(2), 0);
}

}  // namespace
}  // namespace steelyard::balancing::waits_test
