#include "core/device_name.h"

#include <gtest/gtest.h>

namespace steelyard::precision_test {
namespace {

TEST(Precision, EachPrecisionHasAName) {
  for (const Precision it : {Precision::float32, Precision::bf16, Precision::tf32})
    EXPECT_EQ(precision(name(it)), it);
  EXPECT_EQ(name(Precision::tf32), "tf32");
}

}  // namespace
}  // namespace steelyard::precision_test
