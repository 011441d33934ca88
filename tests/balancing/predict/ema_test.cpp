#include "balancing/predict/averages.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::ema_test {
namespace {

TEST(Ema, StartsAsTheMeanOfTheFirstValues) {
  Ema ema;
  ema.observe(100, -1, -1);
  EXPECT_DOUBLE_EQ(ema.predict(-1, -1), 100);
  ema.observe(200, -1, -1);
  EXPECT_DOUBLE_EQ(ema.predict(-1, -1), 150);
  ema.observe(60, -1, -1);
  EXPECT_DOUBLE_EQ(ema.predict(-1, -1), 120);
}

TEST(Ema, MovesByAlphaFromTheFifthValueOn) {
  Ema ema(0.2);
  for (int i = 0; i < 5; ++i) ema.observe(100, -1, -1);
  ema.observe(200, -1, -1);
  EXPECT_DOUBLE_EQ(ema.predict(-1, -1), 120);
  ema.observe(20, -1, -1);
  EXPECT_DOUBLE_EQ(ema.predict(-1, -1), 100);
}

TEST(Ema, AlphaOneIsMemoryless) {
  Ema ema(1);
  ema.observe(100, -1, -1);
  ema.observe(7, -1, -1);
  EXPECT_DOUBLE_EQ(ema.predict(-1, -1), 7);
}

}  // namespace
}  // namespace steelyard::balancing::ema_test
