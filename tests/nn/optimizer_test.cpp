// The update rules of every level: computed by hand, compared with plain loops in double, and split at every
// place.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/error.h"
#include "core/random.h"
#include "nn/optimizer/rule.h"

namespace steelyard::nn::optimizer_test {
namespace {

using Floats = std::vector<float>;
using Kind = Optimizer::Kind;
using testing::ElementsAre;

constexpr Kind kinds[] = {Kind::sgd,   Kind::momentum, Kind::nesterov, Kind::adam,
                          Kind::adamw, Kind::lars,     Kind::lamb};

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

  // One parameter, starting at 1, with gradient sums 2, 4 and -2, scale 1/2 and rate 1/2: all values by hand.
  Floats three_steps(const Optimizer& optimizer, double decay) {
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

TEST_P(Rules, SgdMatchesThreeHandComputedSteps) {
  const Optimizer optimizer{.kind = Kind::sgd, .momentum = 0.5, .weight_decay = 0.25};
  EXPECT_THAT(three_steps(optimizer, 0), ElementsAre(0.5F, -0.5F, 0.0F));
  EXPECT_THAT(three_steps(optimizer, 1), ElementsAre(0.375F, -0.671875F, -0.087890625F));
}

TEST_P(Rules, MomentumMatchesThreeHandComputedSteps) {
  const Optimizer optimizer{.kind = Kind::momentum, .momentum = 0.5, .weight_decay = 0.25};
  EXPECT_THAT(three_steps(optimizer, 0), ElementsAre(0.5F, -0.75F, -0.875F));
  EXPECT_THAT(three_steps(optimizer, 1), ElementsAre(0.375F, -0.984375F, -1.041015625F));
}

TEST_P(Rules, NesterovMatchesThreeHandComputedSteps) {
  const Optimizer optimizer{.kind = Kind::nesterov, .momentum = 0.5, .weight_decay = 0.25};
  EXPECT_THAT(three_steps(optimizer, 0), ElementsAre(0.25F, -1.375F, -0.9375F));
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
    step(sgd, {by_sgd, w, sum, scale}, {}, rate, 1, level);
    step(momentum, {by_momentum, w, sum, scale}, state, rate, 1, level);
    step(nesterov, {by_nesterov, w, sum, scale}, state_nesterov, rate, 1, level);
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

// Any number of shards gives the same bits, because an element does not depend on the borders of its slice.
TEST_P(Rules, ElementsDoNotDependOnSliceBorders) {
  const std::size_t size = 200;
  const Floats w = random_floats(size, 4), sum = random_floats(size, 5), m = random_floats(size, 6);
  for (const Kind kind : kinds) {
    const Optimizer optimizer{.kind = kind, .momentum = 0.9, .weight_decay = 5e-4};
    const auto run = [&](std::size_t cut) {
      Floats out, first_state, second_state;
      for (const auto& [from, count] : {std::pair{std::size_t{0}, cut}, {cut, size - cut}}) {
        Floats next(count), state;
        for (std::uint32_t slot = 0; slot < state_slots(optimizer); ++slot) {
          for (std::size_t i = from; i < from + count; ++i) state.push_back(std::abs(m[i]));
        }
        step(optimizer,
             {next, std::span(w).subspan(from, count), std::span(sum).subspan(from, count), 0.013, 4}, state,
             0.07, 1, level);
        out.insert(out.end(), next.begin(), next.end());
        const auto second = state.begin() + static_cast<std::ptrdiff_t>(std::min(count, state.size()));
        first_state.insert(first_state.end(), state.begin(), second);
        second_state.insert(second_state.end(), second, state.end());
      }
      out.insert(out.end(), first_state.begin(), first_state.end());
      out.insert(out.end(), second_state.begin(), second_state.end());
      return out;
    };
    const Floats whole = run(0);
    for (std::size_t cut = 1; cut < size; ++cut) ASSERT_EQ(run(cut), whole) << "cut at " << cut;
  }
}

// The last push can be added during the step without changing a bit.
TEST_P(Rules, TheLastPushMayBeAddedDuringTheStep) {
  for (const std::size_t size : {1UL, 2047UL, 2048UL, 5001UL}) {
    const Floats w = random_floats(size, 4), first = random_floats(size, 5), last = random_floats(size, 6);
    Floats sum(size);
    nn::sum(sum, first, last, level);
    const auto expect_same = [&](const std::string& rule, std::size_t states, auto take) {
      Floats separate(size), together(size), state(states, 0.25F), state_together = state;
      take(Update{separate, w, sum, 0.013, 4, {}}, state);
      take(Update{together, w, first, 0.013, 4, last}, state_together);
      EXPECT_EQ(separate, together) << rule << " of " << size;
      EXPECT_EQ(state, state_together) << rule << " of " << size;
    };
    for (const Kind kind : kinds) {
      const Optimizer optimizer{.kind = kind, .momentum = 0.9, .weight_decay = 5e-4};
      if (needs_norms(optimizer)) continue;
      expect_same("kind " + std::to_string(static_cast<int>(kind)), size * state_slots(optimizer),
                  [&](const Update& u, Floats& state) { step(optimizer, u, state, 0.07, 1, level); });
    }
    expect_same("mean", 0, [&](const Update& u, Floats&) { mean_step(u, level); });
    expect_same("ema", 0, [&](const Update& u, Floats&) { ema_step(u, 0.9, level); });
  }
}

// A call writes the same bits past the caches, and only inside of `out`, wherever `out` begins.
TEST_P(Rules, WritingPastTheCachesChangesNoBit) {
  constexpr std::size_t most = 400, room = 32;
  const Floats w = random_floats(most, 4), sum = random_floats(most, 5), last = random_floats(most, 6);
  for (int rule = 0; rule <= static_cast<int>(RuleCall::Rule::blend); ++rule) {
    for (const std::size_t size : {1UL, 15UL, 63UL, 64UL, 65UL, 399UL}) {
      for (std::size_t at = 0; at < 17; ++at) {
        const auto ran = [&](bool streams) {
          Floats out(size + room, 0.5F), m(size, 0.25F), v(size, 0.125F);
          RuleCall call{.rule = static_cast<RuleCall::Rule>(rule),
                        .size = size,
                        .out = out.data() + at,
                        .w = w.data(),
                        .sum = sum.data(),
                        .last = at % 2 == 0 ? last.data() : nullptr,
                        .m = m.data(),
                        .v = v.data(),
                        .scale = 0.3F,
                        .decay = 0.01F,
                        .rate = 0.1F,
                        .momentum = 0.9F};
          call.factors = {0.3F, 0.01F, 1, 0.9F, 0.99F, 0.1F, 0.01F, 2, 3, 1e-8F, 0.1F};
          call.streams = streams;
          nn::run(call, level);
          out.insert(out.end(), m.begin(), m.end());
          out.insert(out.end(), v.begin(), v.end());
          return out;
        };
        const Floats cached = ran(false);
        ASSERT_EQ(ran(true), cached) << "rule " << rule << ", " << size << " from " << at;
        EXPECT_EQ(std::count(cached.begin(), cached.begin() + static_cast<std::ptrdiff_t>(at), 0.5F),
                  static_cast<std::ptrdiff_t>(at));
        EXPECT_NE(cached[at], 0.5F);
        EXPECT_EQ(cached[at + size], 0.5F);
      }
    }
  }
}

TEST_P(Rules, PartsOfACallMakeTheWhole) {
  constexpr std::size_t size = 100;
  const Floats w = random_floats(size, 4), sum = random_floats(size, 5), last = random_floats(size, 6);
  const Optimizer optimizer{.kind = Kind::adam};
  const auto ran = [&](std::size_t part) {
    Floats out(size), state(2 * size, 0.25F);
    const RuleCall call = step_call(optimizer, {out, w, sum, 0.1, 4, last}, state, 0.1, 1);
    for (std::size_t at = 0; at < size; at += part)
      nn::run(part_of(call, at, std::min(part, size - at)), level);
    out.insert(out.end(), state.begin(), state.end());
    return out;
  };
  for (const std::size_t part : {1UL, 7UL, 64UL}) EXPECT_EQ(ran(part), ran(size)) << part;
}

// A tensor split into slices gets the same bits as an unsplit one.
TEST_P(Rules, TensorNormsDoNotDependOnSliceBorders) {
  const std::size_t size = 200;
  const Floats w = random_floats(size, 4), sum = random_floats(size, 5);
  for (const Kind kind : {Kind::lars, Kind::lamb}) {
    const Optimizer optimizer{.kind = kind, .weight_decay = 5e-4};
    const auto run = [&](std::size_t cut) {
      TensorStep tensor(optimizer, 1, level);
      Floats out(size), first(cut * state_slots(optimizer)), second((size - cut) * state_slots(optimizer));
      const Update head{std::span(out).first(cut), std::span(w).first(cut), std::span(sum).first(cut), 0.1},
          tail{std::span(out).subspan(cut), std::span(w).subspan(cut), std::span(sum).subspan(cut), 0.1};
      tensor.measure(head, first);
      tensor.measure(tail, second);
      tensor.finish(head, first, 0.07, tensor.ratio());
      tensor.finish(tail, second, 0.07, tensor.ratio());
      return out;
    };
    const Floats whole = run(0);
    for (std::size_t cut = 1; cut <= size; ++cut) ASSERT_EQ(run(cut), whole) << "cut at " << cut;
  }
}

// Four steps of one tensor, and the result of each optimizer: from PyTorch 2.15's torch.optim.Adam and AdamW
// in double, and for lars and lamb, which PyTorch lacks, from the equations of rule.h as plain loops in
// double (Python).
struct Golden {
  Optimizer optimizer;
  double rate;
  Floats result;
};

const Golden goldens[] = {
    {{.kind = Kind::adam, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
     0.05,
     {0.4427676858416386F, -1.2368380156820071F, 1.9218618024010745F, -0.04863367091493319F}},
    {{.kind = Kind::adam, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
     0.05,
     {0.43706831333643165F, -1.1968544576457052F, 1.8892474619445176F, -0.08637211355706512F}},
    {{.kind = Kind::adamw, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
     0.05,
     {0.4339018838185854F, -1.2126783578926266F, 1.8829629540711839F, -0.048772836206060585F}},
    {{.kind = Kind::lars, .momentum = 0.9, .weight_decay = 0.1, .trust = 0.02},
     2.0,
     {0.5070701919659026F, -1.1621524483379544F, 1.6809218138553137F, -0.16452870597446828F}},
    {{.kind = Kind::lamb, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
     0.05,
     {0.45091558660524345F, -1.2339685638522948F, 1.774032757907651F, -0.15799456922544722F}},
};

const Floats gradients[] = {{0.25F, -0.5F, 1, 0},
                            {0.125F, 0.5F, -0.75F, 2},
                            {-1.5F, 0.0625F, 0.25F, -0.5F},
                            {0.5F, 0.5F, 0.5F, 0.5F}};

TEST_P(Rules, OptimizersMatchFourGoldenSteps) {
  for (const Golden& golden : goldens) {
    const Optimizer& optimizer = golden.optimizer;
    Floats w{0.5F, -1.25F, 2, 0.03125F}, state(4 * state_slots(optimizer));
    std::uint64_t steps = 0;
    for (Floats sum : gradients) {
      for (float& value : sum) value *= 8;  // a sum over eight samples
      Floats next(4);
      const Update update{next, w, sum, 0.125, steps++};
      if (needs_norms(optimizer)) {
        TensorStep tensor(optimizer, 1, level);
        tensor.measure(update, state);
        tensor.finish(update, state, golden.rate, tensor.ratio());
      } else {
        step(optimizer, update, state, golden.rate, 1, level);
      }
      w = next;
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(w[i], golden.result[i], 1e-6) << static_cast<int>(optimizer.kind) << ", element " << i;
    }
  }
}

// Two parameter groups of PyTorch 2.15 in double. Both start with the same weights; the second has the
// gradients in reverse order. AdamW with lr 0.05 and 0.0125, weight_decay 0.1 and 0.4; SGD with
// nesterov=True, momentum=0.9, lr 0.05 and 0.15, weight_decay 0.1 and 0.025.
struct GroupGolden {
  Optimizer optimizer;
  Range ranges[2];
  Floats results[2];
};

const GroupGolden group_goldens[] = {
    {{.kind = Kind::adamw, .weight_decay = 0.1, .beta1 = 0.8, .beta2 = 0.95, .epsilon = 1e-3},
     {{}, {.decay = 4, .rate = 0.25}},
     {{0.4339018838185854F, -1.2126783578926266F, 1.8829629540711839F, -0.048772836206060585F},
      {0.4702241232873521F, -1.244520887575954F, 1.9634261307221557F, 0.01658645527105261F}}},
    {{.kind = Kind::nesterov, .momentum = 0.9, .weight_decay = 0.1},
     {{}, {.decay = 0.25, .rate = 3}},
     {{0.5533676030414374F, -1.2159263525472657F, 1.72646612935325F, -0.2895902415747637F},
      {-0.4829388252193358F, -1.6575837824086819F, 1.788487880630464F, 0.2795757462441064F}}},
};

TEST_P(Rules, RangeFactorsMatchParameterGroups) {
  for (const GroupGolden& golden : group_goldens) {
    for (std::size_t group = 0; group < 2; ++group) {
      const Range& range = golden.ranges[group];
      Floats w{0.5F, -1.25F, 2, 0.03125F}, state(4 * state_slots(golden.optimizer));
      std::uint64_t steps = 0;
      for (Floats sum : gradients) {
        if (group == 1) std::ranges::reverse(sum);
        Floats next(4);
        step(golden.optimizer, {next, w, sum, 1, steps++}, state, 0.05 * range.rate, range.decay, level);
        w = next;
      }
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_NEAR(w[i], golden.results[group][i], 1e-6) << "group " << group << ", element " << i;
    }
  }
}

// For a zero tensor, a zero gradient, and ranges without decay, lamb equals adam, and lars equals momentum
// with the rate inside.
TEST_P(Rules, TheTrustRatioIsOneWithoutANorm) {
  const Floats zeros(3), ones(3, 1.0F);
  for (const auto& [w, sum] : {std::pair(zeros, ones), {ones, zeros}}) {
    Floats out(3), state(6);
    TensorStep lars({.kind = Kind::lars}, 1, level);
    lars.measure({out, w, sum}, std::span(state).first(3));
    EXPECT_EQ(lars.ratio(), 1);
    TensorStep lamb({.kind = Kind::lamb}, 1, level);
    lamb.measure({out, w, sum}, state);
    EXPECT_EQ(lamb.ratio(), 1);
  }
  const Floats w = random_floats(3, 1), sum = random_floats(3, 2);
  Floats by_lamb(3), by_adam(3), state(6), other(6);
  step({.kind = Kind::lamb, .weight_decay = 1}, {by_lamb, w, sum}, state, 0.1, 0, level);
  step({.kind = Kind::adam, .weight_decay = 1}, {by_adam, w, sum}, other, 0.1, 0, level);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(by_lamb[i], by_adam[i], 1e-6);
}

TEST(Optimizer, KeepsTheStateOfItsMoments) {
  for (const auto& [kind, slots] : {std::pair(Kind::sgd, 0U),
                                    {Kind::momentum, 1U},
                                    {Kind::nesterov, 1U},
                                    {Kind::adam, 2U},
                                    {Kind::adamw, 2U},
                                    {Kind::lars, 1U},
                                    {Kind::lamb, 2U}}) {
    EXPECT_EQ(state_slots({.kind = kind}), slots);
  }
}

TEST(Optimizer, RefusesNumbersOutsideTheirRange) {
  EXPECT_NO_THROW(validate({}));
  EXPECT_THROW(validate({.momentum = 1}), Failure);
  EXPECT_THROW(validate({.momentum = -0.1}), Failure);
  EXPECT_THROW(validate({.weight_decay = -1}), Failure);
  EXPECT_THROW(validate({.beta1 = 1}), Failure);
  EXPECT_THROW(validate({.beta2 = -0.5}), Failure);
  EXPECT_THROW(validate({.epsilon = 0}), Failure);
  EXPECT_THROW(validate({.trust = 0}), Failure);
}

TEST(OptimizerDeathTest, SlicesOfUnequalLengthAbort) {
  const Floats w(4), sum(3);
  Floats out(4), state(4);
  EXPECT_DEATH(step({}, {out, w, sum, 1}, state, 0.1, 1), "unequal length");
  EXPECT_DEATH(step({}, {out, w, w, 1}, {}, 0.1, 1), "state");
}

}  // namespace
}  // namespace steelyard::nn::optimizer_test
