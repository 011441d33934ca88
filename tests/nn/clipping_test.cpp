#include "nn/optimizer/clipping.h"

#include <gmock/gmock.h>

#include <bit>
#include <numeric>

#include "core/random.h"
#include "nn/optimizer/vector.h"

namespace steelyard::nn::clipping_test {
namespace {

using testing::ElementsAre;

double clipping_of(const Layout& layout, const std::vector<float>& gradient, double weight, double longest) {
  return clipping(sum_of_squares_in(stepped_ranges(layout), gradient), weight, longest);
}

TEST(Clipping, ShortensLongGradients) {
  const std::vector<float> gradient{6, 8};  // of norm 10; 2 as a mean over 5
  Layout layout;
  append(layout, "w", {1});
  append(layout, "b", {1}, Rule::step, 0);
  EXPECT_DOUBLE_EQ(clipping_of(layout, gradient, 5, 0.5), 0.25);
  EXPECT_EQ(clipping_of(layout, gradient, 5, 2), 1);
  EXPECT_EQ(clipping_of(layout, gradient, 5, 0), 1) << "no limit";
  EXPECT_EQ(clipping_of(layout, {0, 0}, 5, 0.5), 1);
}

TEST(Clipping, StatisticsDoNotCountTowardsTheNorm) {
  Layout layout;
  append(layout, "w", {1});
  append(layout, "statistics", {1}, Rule::ema, 0);
  append(layout, "b", {1});
  EXPECT_DOUBLE_EQ(clipping_of(layout, {6, 1000, 8}, 5, 0.5), 0.25);
}

TEST(Clipping, RangesAreDividedIntoParts) {
  const std::vector<Interval> ranges{{0, 3}, {10, 10}, {20, 20 + 4096}, {5000, 5000 + 2 * 4096 + 1}};
  std::vector<Interval> parts;
  for_each_norm_part(ranges, [&](Interval part) { parts.push_back(part); });
  EXPECT_THAT(parts, ElementsAre(Interval{0, 3}, Interval{20, 4116}, Interval{5000, 9096},
                                 Interval{9096, 13'192}, Interval{13'192, 13'193}));
}

// The order of the sum, which devices compute, too: the total of each part, in order.
TEST(Clipping, SquaresAreSummedPartByPart) {
  Random random(4);
  std::vector<float> gradient(10'000);
  for (float& value : gradient) value = static_cast<float>(random.normal());
  const std::vector<Interval> ranges{{5, 9000}, {9001, 10'000}};
  const std::span all(gradient);
  const double expected = ((sum_of_squares(all.subspan(5, 4096)) + sum_of_squares(all.subspan(4101, 4096))) +
                           sum_of_squares(all.subspan(8197, 803))) +
                          sum_of_squares(all.subspan(9001, 999));
  EXPECT_EQ(std::bit_cast<std::uint64_t>(sum_of_squares_in(ranges, gradient)),
            std::bit_cast<std::uint64_t>(expected));
}

}  // namespace
}  // namespace steelyard::nn::clipping_test
