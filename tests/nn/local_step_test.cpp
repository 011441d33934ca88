#include "nn/optimizer/local_step.h"

#include <gmock/gmock.h>

#include <cmath>
#include <vector>

namespace steelyard::nn::local_step_test {
namespace {

using testing::ElementsAre;

// Powers of two, so that all results are exact.
struct State {
  std::vector<float> local{8}, kept{NAN}, moved{NAN};

  void step(const LocalRange& range, bool first, float gradient) {
    const std::vector<float> gradients{gradient};
    local_step({&range, 1}, first, gradients, local, kept, moved);
  }
  void expect(float its_local, float its_kept, float its_moved) const {
    EXPECT_THAT(local, ElementsAre(its_local));
    EXPECT_THAT(kept, ElementsAre(its_kept));
    EXPECT_THAT(moved, ElementsAre(its_moved));
  }
};

const LocalFactors factors{.gradient = 2, .decay = 0.25, .momentum = 0.5, .moved = 4, .local = 0.125};

TEST(LocalStep, Momentum) {
  State state;
  const LocalRange range{0, 1, LocalRange::Kind::momentum, factors};
  state.step(range, true, 3);  // g = 2 * 3 + 8 / 4 = 8 = m = s
  state.expect(7, 8, 32);
  state.step(range, false, 1);  // g = 2 + 7 / 4, m = 4 + g
  state.expect(7 - 7.75F / 8, 7.75F, 32 + 4 * 7.75F);
}

TEST(LocalStep, Nesterov) {
  State state;
  const LocalRange range{0, 1, LocalRange::Kind::nesterov, factors};
  state.step(range, true, 3);  // g = m = 8, s = 12
  state.expect(6.5F, 8, 48);
  state.step(range, false, 1);  // g = 2 + 6.5 / 4 = 3.625, m = 7.625, s = 7.4375
  state.expect(6.5F - 7.4375F / 8, 7.625F, 48 + 4 * 7.4375F);
}

TEST(LocalStep, MeansAreAdded) {
  State state;
  const LocalRange range{0, 1, LocalRange::Kind::mean, factors};
  state.step(range, true, 16);
  EXPECT_EQ(state.local[0], 10);
  EXPECT_EQ(state.moved[0], 64);
  state.step(range, false, 8);
  EXPECT_EQ(state.local[0], 11);
  EXPECT_EQ(state.moved[0], 96);
}

// kept is the average at the beginning, 8, in all steps.
TEST(LocalStep, AveragesBeginAtTheirFirstValue) {
  State state;
  const LocalRange range{0, 1, LocalRange::Kind::ema, factors};
  state.step(range, true, 16);  // moved = 32, local = 8 / 2 + 32 / 8
  state.expect(8, 8, 32);
  state.step(range, false, 16);  // moved = 32 + (32 - 8 / 4) / 2 = 47
  state.expect(4 + 47.0F / 8, 8, 47);
}

TEST(LocalStep, TouchesOnlyItsRanges) {
  std::vector<float> gradient(5, 1), local(5, 8), kept(5), moved(5);
  const std::vector<LocalRange> ranges{{1, 2, LocalRange::Kind::momentum, factors},
                                       {3, 4, LocalRange::Kind::mean, factors}};
  local_step(ranges, true, gradient, local, kept, moved);
  EXPECT_THAT(moved, ElementsAre(0, 16, 0, 4, 0));
  EXPECT_THAT(local, ElementsAre(8, 7.5F, 8, 8.125F, 8));
}

}  // namespace
}  // namespace steelyard::nn::local_step_test
