#include "balancing/allocate/bounds.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace steelyard::balancing::bounds_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::string refusal(std::vector<Bound> bounds, std::uint64_t total) {
  try {
    check_feasible(bounds, total);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  return "";
}

TEST(Bounds, FeasibleBoundsPass) {
  EXPECT_EQ(refusal({{1, 10}, {1, 10}}, 2), "");
  EXPECT_EQ(refusal({{1, 10}, {1, 10}}, 20), "");
  EXPECT_EQ(refusal({{0, UINT64_MAX}, {0, UINT64_MAX}}, most_positions), "");
}

TEST(Bounds, RefusalsNameTheNumbers) {
  EXPECT_THAT(refusal({{0, 100}, {0, 200}}, 512),
              AllOf(HasSubstr("512"), HasSubstr("2 workers"), HasSubstr("300")));
  EXPECT_THAT(refusal({{8, 100}, {8, 100}}, 15), AllOf(HasSubstr("15"), HasSubstr("16")));
  EXPECT_THAT(refusal({{0, 9}, {7, 5}}, 5), AllOf(HasSubstr("worker 1"), HasSubstr("7"), HasSubstr("5")));
  EXPECT_THAT(refusal({{0, UINT64_MAX}}, most_positions + 1), HasSubstr("too long"));
}

TEST(Bounds, EachEligibleWorkerGetsASample) {
  EXPECT_THAT(fitted({{0, 10}, {0, 0}, {3, 10}}, 10), ElementsAre(Bound{1, 10}, Bound{0, 0}, Bound{3, 10}));
}

TEST(Bounds, MinimaShrinkInAShortRound) {
  EXPECT_THAT(fitted({{32, 64}, {32, 64}}, 63), ElementsAre(Bound{1, 64}, Bound{1, 64}));
  EXPECT_THAT(fitted({{32, 64}, {32, 64}}, 1), ElementsAre(Bound{0, 64}, Bound{0, 64}));
  EXPECT_THAT(fitted({{32, 64}, {32, 64}}, 64), ElementsAre(Bound{32, 64}, Bound{32, 64}));
}

TEST(Bounds, MaximaDoNotGrowInALongRound) { EXPECT_THROW(fitted({{1, 10}, {1, 10}}, 21), Failure); }

}  // namespace
}  // namespace steelyard::balancing::bounds_test
