#include <cmath>

#include "core/processor.h"
#include "nn/cpu/kernels.h"
#include "tests/nn/ops/op_checks.h"

namespace steelyard::nn::activation_test {
namespace {

using Kind = Activation::Kind;

constexpr std::array kinds{Kind::relu,       Kind::relu6,        Kind::gelu,    Kind::gelu_tanh, Kind::silu,
                           Kind::hard_swish, Kind::hard_sigmoid, Kind::sigmoid, Kind::tanh};

const char* name(Kind kind) {
  constexpr std::array names{"relu",       "relu6",        "gelu",    "gelu_tanh", "silu",
                             "hard_swish", "hard_sigmoid", "sigmoid", "tanh"};
  return names[static_cast<std::size_t>(kind)];
}

// Numbers in [-8, 8], which reach every branch of every kind.
Question wide_question(Kind kind, Shape shape, std::uint32_t size, std::uint32_t count, Random& random) {
  Question q = random_question(Activation(kind), {shape}, size, count, false, random);
  for (float& value : q.inputs[0]) value *= 8;
  return q;
}

TEST(Activation, MatchesKnownValues) {
  const Floats x{-4, -1, 0, 1, 7};
  const std::vector<std::pair<Kind, Floats>> known{
      {Kind::relu, {0, 0, 0, 1, 7}},
      {Kind::relu6, {0, 0, 0, 1, 6}},
      {Kind::gelu, {-1.26685e-4F, -0.15865525F, 0, 0.84134475F, 7}},
      {Kind::gelu_tanh, {-7.0220e-5F, -0.15880801F, 0, 0.84119199F, 7}},
      {Kind::silu, {-0.07194484F, -0.26894142F, 0, 0.73105858F, 6.9936224F}},
      {Kind::hard_swish, {0, -1 / 3.0F, 0, 2 / 3.0F, 7}},
      {Kind::hard_sigmoid, {0, 1 / 3.0F, 0.5F, 2 / 3.0F, 1}},
      {Kind::sigmoid, {0.01798621F, 0.26894142F, 0.5F, 0.73105858F, 0.99908895F}},
      {Kind::tanh, {-0.99932930F, -0.76159416F, 0, 0.76159416F, 0.99999834F}}};
  Random random(1);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const auto& [kind, expected] : known) {
    SCOPED_TRACE(name(kind));
    Question q = random_question(Activation(kind), {{1, 1, 5}}, 1, 1, false, random);
    q.inputs[0] = x;
    expect_near(run(*reference_op(q), q, {batch, true}).output, expected, "reference", 1e-6F);
    expect_near(run(*cpu_op(q), q, {batch, true}).output, expected, "cpu", 1e-6F);
  }
}

TEST(Activation, ReferenceGradientsMatchFiniteDifferences) {
  Random random(2);
  const MicroBatch batch{.size = 4, .count = 3};
  for (const Kind kind : kinds) {
    SCOPED_TRACE(name(kind));
    Question q = wide_question(kind, {3, 2, 5}, 4, 3, random);
    for (float& value : q.inputs[0]) {  // away from the kinks
      for (const float kink : {-3.0F, 0.0F, 3.0F, 6.0F}) {
        if (std::abs(value - kink) < 0.05F) value = kink + 0.1F;
      }
    }
    expect_true_gradients(*reference_op(q), q, {batch, true});
  }
}

TEST(Activation, TheCpuAgreesWithTheReference) {
  Random random(3);
  for (const Kind kind : kinds) {
    SCOPED_TRACE(name(kind));
    for (const Shape shape : {Shape{1, 1, 1}, Shape{3, 5, 7}, Shape{32, 31, 3}}) {
      expect_good_op(Activation(kind), {shape}, random, 1e-5F);
      const MicroBatch batch{.size = 8, .count = 7};
      const Question q = wide_question(kind, shape, 8, 7, random);
      expect_same(run(*cpu_op(q), q, {batch, true}), run(*reference_op(q), q, {batch, true}), q,
                  {batch, true}, 1e-5F);
    }
  }
}

TEST(Activation, SupportsLanes) {
  Random random(4);
  for (const std::uint32_t size : {2U, 32U}) {
    const MicroBatch batch{.size = size, .count = size};
    for (const Kind kind : kinds) {
      const Question q = wide_question(kind, {3, 3, 5}, size, size, random);
      const Answer ours = run(*cpu_op(q, Order::lanes), q, {batch, true}, Order::lanes, Order::lanes);
      expect_same(ours, run(*reference_op(q), q, {batch, true}), q, {batch, true}, 1e-5F);
    }
  }
}

TEST(Activation, KeepsOnlyWhatTheDerivativeNeeds) {
  Random random(5);
  for (const Kind kind : kinds) {
    const Traits traits =
        cpu_op(random_question(Activation(kind), {{1, 1, 1}}, 1, 1, false, random))->traits();
    const bool from_input =
        kind == Kind::gelu || kind == Kind::gelu_tanh || kind == Kind::silu || kind == Kind::hard_swish;
    EXPECT_EQ(traits.reads_inputs, from_input) << name(kind);
    EXPECT_EQ(traits.reads_output, !from_input) << name(kind);
    EXPECT_EQ(traits.in_place, !from_input) << name(kind);
  }
}

// Every processor level that this processor supports.
std::vector<const ActivationTable*> tables() {
  std::vector<const ActivationTable*> all{&baseline::activation};
  if (cpu_level() >= Level::v3) all.push_back(&v3::activation);
  if (cpu_level() >= Level::v4) all.push_back(&v4::activation);
  return all;
}

// All results above 1e-36 have a relative error below 1e-6 compared with double. For gelu_tanh, an
// approximation anyway, the rounding of a cube in an exponent allows only 2e-5.
TEST(Activation, EveryLevelIsAccurateToOneInAMillion) {
  Floats x;
  for (float at = 1e-6F; at < 80; at *= 1.003F) {
    x.push_back(at);
    x.push_back(-at);
  }
  Random random(6);
  const MicroBatch batch{.size = 1, .count = 1};
  for (const Kind kind : {Kind::gelu, Kind::gelu_tanh, Kind::silu, Kind::sigmoid, Kind::tanh}) {
    Question q = random_question(Activation(kind), {{1, 1, static_cast<std::uint32_t>(x.size())}}, 1, 1,
                                 false, random);
    q.inputs[0] = x;
    const Floats expected = run(*reference_op(q), q, {batch, false}).output;
    const float tolerance = kind == Kind::gelu_tanh ? 2e-5F : 1e-6F;
    for (const ActivationTable* table : tables()) {
      Floats output(x.size());
      table->forward[static_cast<int>(kind)](x.size(), x.data(), output.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        ASSERT_NEAR(output[i], expected[i], tolerance * std::abs(expected[i]) + 1e-36F)
            << name(kind) << " at " << x[i];
      }
    }
  }
}

TEST(Activation, HandlesLimitsAndNan) {
  const Floats x{-1e30F, -1000, 1000, 1e30F, NAN};
  for (const ActivationTable* table : tables()) {
    for (const Kind kind : kinds) {
      SCOPED_TRACE(name(kind));
      const bool bounded = kind == Kind::hard_sigmoid || kind == Kind::sigmoid || kind == Kind::tanh;
      const float min = kind == Kind::tanh ? -1.0F : 0.0F;
      const float max = kind == Kind::relu6 ? 6.0F : 1.0F;
      Floats y(x.size()), slope(x.size());
      table->forward[static_cast<int>(kind)](x.size(), x.data(), y.data());
      for (const std::size_t i : {0U, 1U}) EXPECT_NEAR(y[i], min, 1e-6F);
      for (const std::size_t i : {2U, 3U}) {
        EXPECT_FLOAT_EQ(y[i], bounded || kind == Kind::relu6 ? max : x[i]);
      }
      EXPECT_TRUE(std::isnan(y[4]));
      const Floats one(x.size(), 1.0F);
      const bool from_input =
          kind == Kind::gelu || kind == Kind::gelu_tanh || kind == Kind::silu || kind == Kind::hard_swish;
      table->backward[static_cast<int>(kind)](x.size(), from_input ? x.data() : y.data(), one.data(),
                                              slope.data());
      for (const std::size_t i : {0U, 1U}) EXPECT_NEAR(slope[i], 0, 1e-6F);
      const float steep = bounded || kind == Kind::relu6 ? 0.0F : 1.0F;
      for (const std::size_t i : {2U, 3U}) EXPECT_NEAR(slope[i], steep, 1e-6F);
    }
  }
}

}  // namespace
}  // namespace steelyard::nn::activation_test
