#include "balancing/cost/curves.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/random.h"

namespace steelyard::balancing::affine_window_test {
namespace {

const Affine kTruth{0.010, 0.001};

void feed(AffineWindow& window, int batches, double scale, Random& random) {
  for (int i = 0; i < batches; ++i) {
    const double b = 50.0 + static_cast<double>(random.below(100));
    window.add({b, scale * kTruth(b) * (1 + 0.02 * random.normal())});
  }
}

TEST(AffineWindow, FollowsALastingChangeAfterThreeBatches) {
  for (const double scale : {2.0, 0.5}) {
    Random random(1);
    AffineWindow window;
    feed(window, 64, 1, random);
    feed(window, 3, scale, random);
    EXPECT_NEAR(window.curve()(100), scale * kTruth(100), 0.1 * scale * kTruth(100));
  }
}

TEST(AffineWindow, IgnoresTwoOutliersInARow) {
  Random random(2);
  AffineWindow window;
  feed(window, 64, 1, random);
  feed(window, 2, 10, random);
  feed(window, 1, 1, random);
  feed(window, 2, 10, random);
  EXPECT_NEAR(window.curve()(100), kTruth(100), 0.03 * kTruth(100));
}

// For a line through the origin, a batch of 128 followed by one of 20 looks like a change of speed; it is
// only a fixed cost.
TEST(AffineWindow, AnotherBatchSizeIsNotAChangeOfSpeed) {
  const Affine slow{0.050982, 0.00267139};  // the GTX 750 of LBB's table 2
  AffineWindow window;
  for (int i = 0; i < 30; ++i) window.add({128, slow(128)});
  for (int i = 0; i < 30; ++i) window.add({20, slow(20)});
  EXPECT_NEAR(window.curve()(128), slow(128), 0.02 * slow(128));
  EXPECT_NEAR(window.curve()(20), slow(20), 0.02 * slow(20));
}

TEST(AffineWindow, FollowsSlowDrift) {
  Random random(3);
  AffineWindow window;
  for (int step = 0; step < 300; ++step) feed(window, 1, 1 + 0.001 * step, random);
  EXPECT_NEAR(window.curve()(100), 1.27 * kTruth(100), 0.05 * kTruth(100));
}

TEST(AffineWindow, ImpossibleBatchesAreIgnored) {
  AffineWindow window;
  EXPECT_FALSE(window.add({0, 1}));
  EXPECT_FALSE(window.add({5, -1}));
  EXPECT_FALSE(window.add({5, NAN}));
  EXPECT_TRUE(window.empty());
  EXPECT_TRUE(window.add({5, 1}));
  EXPECT_FALSE(window.empty());
}

}  // namespace
}  // namespace steelyard::balancing::affine_window_test
