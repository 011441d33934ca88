#include "worker/data/normalization.h"

#include <gmock/gmock.h>

#include <cmath>

#include "tests/worker/made_data.h"

namespace steelyard::normalization_test {
namespace {

using ::testing::DoubleEq;
using ::testing::DoubleNear;
using ::testing::ElementsAre;

TEST(Normalization, IsExactAndByChannelForBytes) {
  Histograms counts(2);
  counts[0][0] = counts[0][255] = 7;
  counts[1][51] = 3;
  const Normalization it = normalization_of(counts);
  EXPECT_THAT(it.mean, ElementsAre(DoubleEq(0.5), DoubleEq(0.2)));
  EXPECT_THAT(it.deviation, ElementsAre(DoubleEq(0.5), DoubleEq(1))) << "one colour has nothing to scale";
  EXPECT_FLOAT_EQ(floats_of_bytes(it, 0)[255], 1);
  EXPECT_FLOAT_EQ(floats_of_bytes(it, 1)[51], 0);
  EXPECT_THAT(zero_inputs(it, 2), ElementsAre(-1.0F, -0.2F));
  EXPECT_THAT(zero_inputs({{0.5}, {0.25}}, 3), ElementsAre(-2, -2, -2))
      << "one number applies to all channels";
  EXPECT_FALSE(std::signbit(zero_inputs({{0}, {1}}, 1)[0])) << "the bits of a black pixel";
}

TEST(Normalization, IsByChannelForSamples) {
  const Normalization it = measure(NumberedData(5));  // 0..4, and the same + 1/2
  EXPECT_THAT(it.mean, ElementsAre(DoubleNear(2, 1e-12), DoubleNear(2.5, 1e-12)));
  EXPECT_THAT(it.deviation,
              ElementsAre(DoubleNear(std::sqrt(2.0), 1e-12), DoubleNear(std::sqrt(2.0), 1e-12)));
  EXPECT_THAT(measure(NumberedData(1)).deviation, ElementsAre(1, 1));
}

}  // namespace
}  // namespace steelyard::normalization_test
