#include "balancing/predict/averages.h"

#include <gtest/gtest.h>

namespace steelyard::balancing::last_test {
namespace {

TEST(Last, IsTheLastValue) {
  Last last;
  for (const double value : {3.0, 5.0, 4.0}) last.observe(value, 0.1, 7);
  EXPECT_EQ(last.predict(0.9, 3), 4);
}

}  // namespace
}  // namespace steelyard::balancing::last_test
