// The rule of servers whose workers take the optimizer steps: the next version is the mean of the pushes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "nn/optimizer/rule.h"

namespace steelyard::nn::worker_rule_test {
namespace {

using Floats = std::vector<float>;
using testing::ElementsAre;

const Optimizer rule{.kind = Optimizer::Kind::worker, .momentum = 0.9, .weight_decay = 0.5};

class WorkerRule : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (level > cpu_level()) GTEST_SKIP() << "this processor has no " << name(level);
  }
  const Level level = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Levels, WorkerRule, testing::Values(Level::baseline, Level::v3, Level::v4),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(WorkerRule, MakesTheMeanOfAllPushes) {
  const Floats w{100, 200, 300}, sum{4, -8, 2}, last{4, 0, 2};
  Floats out(3);
  step(rule, {out, w, sum, 0.25}, {}, 0.1, 1, level);
  EXPECT_THAT(out, ElementsAre(1.0F, -2.0F, 0.5F)) << "without rate, momentum and decay";
  step(rule, {out, w, sum, 0.25, 7, last}, {}, 0.1, 1, level);
  EXPECT_THAT(out, ElementsAre(2.0F, -2.0F, 1.0F));
}

// Otherwise one infinite gradient would spoil all later versions.
TEST_P(WorkerRule, TheFormerVersionHasNoEffect) {
  const Floats w{std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}, sum{4, 8};
  Floats out(2);
  step(rule, {out, w, sum, 0.25}, {}, 0.1, 1, level);
  EXPECT_THAT(out, ElementsAre(1.0F, 2.0F));
}

TEST(WorkerOptimizer, HasNoStateAndIsNotLinear) {
  EXPECT_EQ(state_slots(rule), 0U);
  EXPECT_FALSE(is_linear(rule)) << "two partial means are no mean";
  EXPECT_FALSE(needs_norms(rule));
  EXPECT_TRUE(steps_on_workers(rule));
  EXPECT_FALSE(steps_on_workers({}));
  EXPECT_NO_THROW(validate(rule));
}

}  // namespace
}  // namespace steelyard::nn::worker_rule_test
