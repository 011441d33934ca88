// Winograd's convolution at every level, compared with the reference.
#include "nn/cpu/winograd.h"

#include <tuple>

#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::winograd_test {
namespace {

struct Case {
  Shape input;
  std::uint32_t channels, padding, samples;
};

class Winograd : public testing::TestWithParam<std::tuple<Level, Case>> {
 protected:
  void SetUp() override {
    if (level > cpu_level()) GTEST_SKIP() << "this processor has no " << name(level);
  }

  // The same question for both, with gradients written or added.
  void compare(const Conv2d& options, bool add, std::uint64_t seed) const {
    Random random(seed);
    const MicroBatch batch{.size = it.samples, .count = it.samples};
    const Pass pass{batch, true};
    const Question q = random_question(options, {it.input}, it.samples, it.samples, add, random);
    expect_same(run(*cpu::make_winograd_conv2d(options, q.place, level), q, pass),
                run(*reference_op(q), q, pass), q, pass);
  }

  const Level level = std::get<0>(GetParam());
  const Case it = std::get<1>(GetParam());
};

TEST_P(Winograd, MatchesTheReference) {
  for (const bool add : {false, true}) {
    compare({.channels = it.channels, .kernel = 3, .padding = it.padding, .bias = add}, add, it.channels);
  }
}

std::string name_of(const testing::TestParamInfo<std::tuple<Level, Case>>& tested) {
  const Case& it = std::get<1>(tested.param);
  return std::string(name(std::get<0>(tested.param))) + "_" + std::to_string(it.input.height) + "x" +
         std::to_string(it.input.width) + "x" + std::to_string(it.input.channels) + "_to_" +
         std::to_string(it.channels);
}

// Whole tiles, parts of tiles and pictures smaller than a tile; each padding; more tiles than a block has
// (128) with more channels than a strip has (64), and both apart.
constexpr Case cases[] = {{{8, 8, 16}, 16, 1, 3},   {{7, 9, 16}, 32, 1, 2},   {{6, 5, 32}, 16, 0, 2},
                          {{5, 4, 16}, 16, 2, 2},   {{3, 2, 16}, 16, 1, 5},   {{9, 6, 48}, 80, 1, 4},
                          {{4, 4, 96}, 144, 1, 31}, {{12, 11, 16}, 80, 1, 17}};

INSTANTIATE_TEST_SUITE_P(Levels, Winograd,
                         testing::Combine(testing::Values(Level::baseline, Level::v3, Level::v4),
                                          testing::ValuesIn(cases)),
                         name_of);

// Sums of float32 differ from those in double by some units of the last place. With the points 0, +-1, +-2
// and infinity this deviation would be about three times the bound.
TEST(WinogradError, IsThatOfAFewRoundings) {
  Random random(1);
  const MicroBatch batch{.size = 4, .count = 4};
  const Pass pass{batch, true};
  const Question q =
      random_question(Conv2d{.channels = 64, .kernel = 3, .padding = 1}, {{16, 16, 64}}, 4, 4, false, random);
  const Answer actual = run(*cpu::make_winograd_conv2d(std::get<Conv2d>(q.kind), q.place), q, pass);
  const Answer expected = run(*reference_op(q), q, pass);
  const auto deviation = [](const Floats& a, const Floats& b) {
    double difference = 0, whole = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      difference += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
      whole += double{b[i]} * b[i];
    }
    return std::sqrt(difference / whole);
  };
  EXPECT_LT(deviation(actual.output, expected.output), 1.2e-6);
  EXPECT_LT(deviation(actual.d_inputs[0], expected.d_inputs[0]), 1.2e-6);
  EXPECT_LT(deviation(actual.d_parameters[0], expected.d_parameters[0]), 2e-6);
}

TEST(SuitsWinograd, ConvolutionsOfThreeByThreeWithWholeVectorsOfChannels) {
  const auto suits = [](const Conv2d& op, Shape input) {
    const Shape output = op.shape(Shapes(&input, 1));
    return cpu::suits_winograd(op, {{input}, output});
  };
  const Conv2d usual{.channels = 32, .kernel = 3, .padding = 1};
  EXPECT_TRUE(suits(usual, {8, 8, 16}));
  EXPECT_TRUE(suits(usual, {7, 7, 16}));
  EXPECT_FALSE(suits(usual, {8, 8, 24}));
  EXPECT_FALSE(suits(usual, {2, 2, 16}));
  EXPECT_FALSE(suits({.channels = 24, .kernel = 3, .padding = 1}, {8, 8, 16}));
  EXPECT_FALSE(suits({.channels = 32, .kernel = 5, .padding = 2}, {8, 8, 16}));
  EXPECT_FALSE(suits({.channels = 32, .kernel = 3, .stride = 2, .padding = 1}, {8, 8, 16}));
  EXPECT_FALSE(suits({.channels = 32, .kernel = 3, .padding = 1, .groups = 16}, {8, 8, 16}));
}

}  // namespace
}  // namespace steelyard::nn::winograd_test
