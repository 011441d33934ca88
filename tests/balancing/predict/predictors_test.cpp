#include "balancing/predict/predictors.h"

#include <gmock/gmock.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace steelyard::balancing::predictors_test {
namespace {

TEST(Predictors, NamesAreInOrder) {
  EXPECT_THAT(predictor_names(), testing::ElementsAre("last", "ema", "arima", "rnn", "narx"));
}

TEST(Predictors, UnknownNamesAreRefusedWithTheValidOnes) {
  try {
    make_predictor("oracle", 1);
    FAIL() << "accepted an unknown predictor";
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    EXPECT_THAT(failure.what(), testing::HasSubstr("last, ema, arima, rnn, narx"));
  }
}

class EveryPredictor : public testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<Predictor> predictor_ = make_predictor(GetParam(), 1);
};

TEST_P(EveryPredictor, PredictsNothingAtFirst) { EXPECT_EQ(predictor_->predict(0.5, 100), 0); }

TEST_P(EveryPredictor, OneValueIsEnough) {
  predictor_->observe(123, -1, -1);
  EXPECT_DOUBLE_EQ(predictor_->predict(-1, -1), 123);
}

TEST_P(EveryPredictor, AConstantStaysConstant) {
  for (int i = 0; i < 300; ++i) {
    predictor_->observe(50, 0.8, 4000);
    ASSERT_NEAR(predictor_->predict(0.8, 4000), 50, 1e-9) << "round " << i;
  }
}

TEST_P(EveryPredictor, ImpossibleValuesAreIgnored) {
  predictor_->observe(123, -1, -1);
  const std::string before = predictor_->save();
  for (const double value : {0.0, -1.0, double(NAN), double(INFINITY)}) predictor_->observe(value, 0.5, 100);
  EXPECT_EQ(predictor_->save(), before);
}

TEST_P(EveryPredictor, StaysNearTheLastValue) {
  Random random(4);
  for (int i = 0; i < 500; ++i) {
    const double value = std::exp(8 * random.uniform());
    predictor_->observe(value, random.uniform(), 1000 * random.uniform());
    const double next = predictor_->predict(random.uniform() * 2 - 0.5, NAN);
    if (GetParam() == "ema") {
      ASSERT_GT(next, 0);
    } else {
      ASSERT_GE(next, 0.25 * value);
      ASSERT_LE(next, 4 * value);
    }
  }
}

TEST_P(EveryPredictor, RestoredPredictorsPredictIdentically) {
  Random random(5);
  std::unique_ptr<Predictor> restored;
  for (int i = 0; i < 400; ++i) {
    const double cpu = random.uniform(), memory = 1000 * random.uniform(), value = 100 * (0.2 + cpu);
    if (i > 150) {
      ASSERT_EQ(restored->predict(cpu, memory), predictor_->predict(cpu, memory)) << "round " << i;
      restored->observe(value, cpu, memory);
    }
    predictor_->observe(value, cpu, memory);
    if (i == 150) {
      restored = make_predictor(GetParam(), 99);  // the seed is part of the state
      restored->restore(predictor_->save());
    }
  }
}

TEST_P(EveryPredictor, DamagedStateIsRefusedAndChangesNothing) {
  for (int i = 0; i < 40; ++i) predictor_->observe(100 + i, 0.5, 100);
  const std::string own = predictor_->save();
  for (std::size_t length = 0; length < own.size(); length += 1 + own.size() / 50) {
    EXPECT_THROW(predictor_->restore(own.substr(0, length)), Failure) << length << " bytes";
  }
  EXPECT_THROW(predictor_->restore(own + "1 "), Failure);
  EXPECT_EQ(predictor_->save(), own);
}

INSTANTIATE_TEST_SUITE_P(Predictors, EveryPredictor, testing::ValuesIn(predictor_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace steelyard::balancing::predictors_test
