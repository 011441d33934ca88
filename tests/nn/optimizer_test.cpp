// The update rules of every level: by hand, against plain loops in double, and cut at every place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "nn/optimizer/rule.h"

namespace steelyard::nn {
namespace {

using Floats = std::vector<float>;
using Kind = Optimizer::Kind;
using testing::ElementsAre;

Floats random_floats(std::size_t size, std::uint64_t seed) {
  Random random(seed);
  Floats values(size);
  for (float& value : values) value = static_cast<float>(random.uniform() * 2 - 1);
  return values;
}

class Rules : public testing::TestWithParam<Level> {
 protected:
  void SetUp() override {
    if (level > cpu_level()) GTEST_SKIP() << "this processor has no " << name(level);
  }

  // One parameter, starting at 1, through sums of 2, 4 and -2 at scale 1/2 and rate 1/2: all values by hand.
  Floats three_steps(const Optimizer& optimizer, bool decay) {
    Floats w{1}, seen;
    Floats state(state_slots(optimizer));
    for (const float sum : {2.0F, 4.0F, -2.0F}) {
      Floats next(1);
      step(optimizer, {next, w, std::span(&sum, 1), 0.5}, state, 0.5, decay, level);
      w = next;
      seen.push_back(w[0]);
    }
    return seen;
  }

  const Level level = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Levels, Rules, testing::Values(Level::baseline, Level::v3, Level::v4),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(Rules, ThreeStepsOfSgd) {
  const Optimizer optimizer{.kind = Kind::sgd, .momentum = 0.5, .weight_decay = 0.25};
  EXPECT_THAT(three_steps(optimizer, false), ElementsAre(0.5F, -0.5F, 0.0F));
  EXPECT_THAT(three_steps(optimizer, true), ElementsAre(0.375F, -0.671875F, -0.087890625F));
}

TEST_P(Rules, ThreeStepsOfMomentum) {
  const Optimizer optimizer{.kind = Kind::momentum, .momentum = 0.5, .weight_decay = 0.25};
  EXPECT_THAT(three_steps(optimizer, false), ElementsAre(0.5F, -0.75F, -0.875F));
  EXPECT_THAT(three_steps(optimizer, true), ElementsAre(0.375F, -0.984375F, -1.041015625F));
}

TEST_P(Rules, ThreeStepsOfNesterov) {
  const Optimizer optimizer{.kind = Kind::nesterov, .momentum = 0.5, .weight_decay = 0.25};
  EXPECT_THAT(three_steps(optimizer, false), ElementsAre(0.25F, -1.375F, -0.9375F));
}

TEST_P(Rules, MeanAddsTheMeanDifference) {
  const Floats w{1, 2}, sum{4, -8};
  Floats out(2);
  mean_step({out, w, sum, 0.25}, level);
  EXPECT_THAT(out, ElementsAre(2.0F, 0.0F));
}

TEST_P(Rules, EmaMovesTowardsTheMean) {
  const Floats w{1, 2}, sum{4, -8};
  Floats out(2);
  ema_step({out, w, sum, 0.25}, 0.75, level);
  EXPECT_THAT(out, ElementsAre(1.0F, 1.0F));  // 3/4 + 1/4, 6/4 - 2/4
}

TEST_P(Rules, EveryRuleMatchesItsEquation) {
  const double mu = 0.9, pull = 1e-3, rate = 0.05, scale = 1.0 / 37, keep = 0.9;
  for (const std::size_t size : {0, 1, 3, 15, 16, 17, 63, 64, 65, 1000}) {
    const Floats w = random_floats(size, 1), sum = random_floats(size, 2), m = random_floats(size, 3);
    const Optimizer sgd{Kind::sgd, mu, pull}, momentum{Kind::momentum, mu, pull},
        nesterov{Kind::nesterov, mu, pull};
    Floats by_sgd(size), by_momentum(size), by_nesterov(size), by_ema(size), state = m, state_nesterov = m;
    step(sgd, {by_sgd, w, sum, scale}, {}, rate, true, level);
    step(momentum, {by_momentum, w, sum, scale}, state, rate, true, level);
    step(nesterov, {by_nesterov, w, sum, scale}, state_nesterov, rate, true, level);
    ema_step({by_ema, w, sum, scale}, keep, level);
    for (std::size_t i = 0; i < size; ++i) {
      const double g = scale * sum[i] + pull * w[i], m_next = mu * m[i] + g;
      ASSERT_NEAR(by_sgd[i], w[i] - rate * g, 3e-7);
      ASSERT_NEAR(by_momentum[i], w[i] - rate * m_next, 3e-7);
      ASSERT_NEAR(by_nesterov[i], w[i] - rate * (g + mu * m_next), 3e-7);
      ASSERT_NEAR(state[i], m_next, 3e-7);
      ASSERT_EQ(state_nesterov[i], state[i]);
      ASSERT_NEAR(by_ema[i], keep * w[i] + (1 - keep) * scale * sum[i], 3e-7);
    }
  }
}

// What makes any number of shards give the same bits: an element cannot tell where its slice begins and ends.
TEST_P(Rules, AnElementDoesNotDependOnTheCuts) {
  const std::size_t size = 200;
  const Floats w = random_floats(size, 4), sum = random_floats(size, 5), m = random_floats(size, 6);
  for (const Kind kind : {Kind::sgd, Kind::momentum, Kind::nesterov}) {
    const Optimizer optimizer{.kind = kind, .momentum = 0.9, .weight_decay = 5e-4};
    const bool keeps = state_slots(optimizer) == 1;
    const auto run = [&](std::size_t cut) {
      Floats out(size), state = keeps ? m : Floats{};
      for (const auto& [from, count] : {std::pair{std::size_t{0}, cut}, {cut, size - cut}}) {
        const Update update{std::span(out).subspan(from, count), std::span(w).subspan(from, count),
                            std::span(sum).subspan(from, count), 0.013};
        step(optimizer, update, keeps ? std::span(state).subspan(from, count) : std::span<float>(), 0.07,
             true, level);
      }
      out.insert(out.end(), state.begin(), state.end());
      return out;
    };
    const Floats whole = run(0);
    for (std::size_t cut = 1; cut < size; ++cut) ASSERT_EQ(run(cut), whole) << "cut at " << cut;
  }
}

TEST(Optimizer, KeepsStateOnlyForMomentum) {
  EXPECT_EQ(state_slots({.kind = Kind::sgd}), 0U);
  EXPECT_EQ(state_slots({.kind = Kind::momentum}), 1U);
  EXPECT_EQ(state_slots({.kind = Kind::nesterov}), 1U);
}

TEST(Optimizer, RefusesNumbersOutsideTheirRange) {
  EXPECT_NO_THROW(validate({}));
  EXPECT_THROW(validate({.momentum = 1}), Failure);
  EXPECT_THROW(validate({.momentum = -0.1}), Failure);
  EXPECT_THROW(validate({.weight_decay = -1}), Failure);
}

TEST(OptimizerDeathTest, SlicesOfUnequalLengthAreOurOwnMistake) {
  const Floats w(4), sum(3);
  Floats out(4), state(4);
  EXPECT_DEATH(step({}, {out, w, sum, 1}, state, 0.1, true), "unequal length");
  EXPECT_DEATH(step({}, {out, w, w, 1}, {}, 0.1, true), "state");
}

}  // namespace
}  // namespace steelyard::nn
