#include "worker/data/targets.h"

#include <gmock/gmock.h>

#include "tests/worker/data/data_checks.h"

namespace steelyard::targets_test {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;

std::vector<float> row(const Targets& targets, std::uint64_t index) {
  std::vector<float> values(targets.each());
  targets.read(index, values.data());
  return values;
}

TEST(Targets, AreScaledByTheTrainingSet) {
  Targets train({1, 500000, 3, 500000, 5, 500000}, 2), test({3, 500002}, 2);
  const Normalization by = scale_targets(train, test, {LabelKind::numbers});
  EXPECT_THAT(by.mean, ElementsAre(3, 500000));
  EXPECT_THAT(by.deviation, ElementsAre(testing::DoubleNear(1.632993, 1e-6), 1)) << "sqrt(8/3); constant: 1";
  EXPECT_THAT(row(train, 2), ElementsAre(FloatNear(1.224745F, 1e-6F), 0));
  EXPECT_THAT(row(test, 0), ElementsAre(0, 2));
}

TEST(Targets, StayAsTheyAreIfTheyAreAnswersOrTheOptionSaysSo) {
  for (const LabelOptions& options :
       {LabelOptions{LabelKind::binary}, LabelOptions{LabelKind::numbers, false}}) {
    Targets train({0, 1, 1}, 1), test({1}, 1);
    const Normalization by = scale_targets(train, test, options);
    EXPECT_THAT(by.mean, ElementsAre(0));
    EXPECT_THAT(by.deviation, ElementsAre(1));
    EXPECT_THAT(row(train, 1), ElementsAre(1));
  }
}

TEST(Targets, OptionsNameTheKindOfLabels) {
  const auto options = [](const OptionTexts& texts) {
    return label_options_in(Options("data set 'csv'", label_options(), texts));
  };
  EXPECT_EQ(options({}).kind, LabelKind::classes);
  EXPECT_TRUE(options({}).scaled);
  for (const LabelKind kind : {LabelKind::classes, LabelKind::numbers, LabelKind::binary})
    EXPECT_EQ(options({{targets_key, word_of(kind)}}).kind, kind);
  EXPECT_FALSE(options({{"scale_targets", "false"}}).scaled);
}

TEST(Targets, AreFiniteAndAnswersAreBinary) {
  EXPECT_EQ(target_trouble(LabelKind::numbers, -3.5), "");
  EXPECT_EQ(target_trouble(LabelKind::numbers, 1 / 0.0), "is not a finite number");
  EXPECT_EQ(target_trouble(LabelKind::binary, 1), "");
  EXPECT_EQ(target_trouble(LabelKind::binary, 0.5), "is neither 0 nor 1");
}

}  // namespace
}  // namespace steelyard::targets_test
