#include "worker/data/sets/synthetic.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace steelyard::synthetic_test {
namespace {

struct Sample {
  std::vector<float> values;
  std::uint32_t label = 99;
  friend bool operator==(const Sample&, const Sample&) = default;
};

Sample sample(const DataSet& set, std::uint64_t index) {
  Sample it{std::vector<float>(set.shape().size()), 99};
  set.read(index, it.values.data(), &it.label);
  return it;
}

TEST(Synthetic, IsAPureFunctionOfSeedPartAndIndex) {
  const SyntheticDataSet a({}), b({});
  EXPECT_EQ(sample(a, 7), sample(b, 7));
  EXPECT_EQ(sample(a, 7), sample(a, 7));
  EXPECT_NE(sample(a, 7).values, sample(a, 8).values);
  EXPECT_NE(sample(a, 7).values, sample(SyntheticDataSet({.part = 1}), 7).values);
  EXPECT_NE(sample(a, 7).values, sample(SyntheticDataSet({.seed = 2}), 7).values);
}

TEST(Synthetic, PartsShareTheirPrototypes) {
  const SyntheticOptions options{.classes = 3, .shape = {5, 7, 2}, .noise = 0};
  SyntheticOptions other = options;
  other.part = 1;
  const SyntheticDataSet train(options), test(other);
  for (std::uint64_t i = 0; i < 50; ++i) {
    for (const SyntheticDataSet* set : {&train, &test}) {
      const Sample it = sample(*set, i);
      ASSERT_LT(it.label, 3u);
      EXPECT_EQ(it.values, std::vector<float>(train.prototype(it.label), train.prototype(it.label) + 70));
    }
  }
}

TEST(Synthetic, PrototypesAreSquaresAndDiffer) {
  const SyntheticDataSet set({.classes = 2, .shape = {8, 8, 1}});
  const float* first = set.prototype(0);
  EXPECT_EQ(first[0], first[27]) << "row 3, column 3: of the same square";
  EXPECT_NE(first[0], first[4]);
  EXPECT_NE(first[0], first[32]);
  EXPECT_NE(first[0], set.prototype(1)[0]);
}

TEST(Synthetic, NoiseHasItsDeviationAndNoMean) {
  const SyntheticDataSet set({.samples = 500, .noise = 2});
  double sum = 0, squares = 0, count = 0;
  for (std::uint64_t i = 0; i < set.size(); ++i) {
    const Sample it = sample(set, i);
    for (std::size_t p = 0; p < it.values.size(); ++p) {
      const double noise = it.values[p] - set.prototype(it.label)[p];
      sum += noise;
      squares += noise * noise;
      ++count;
    }
  }
  // 392,000 values: five standard errors.
  EXPECT_NEAR(sum / count, 0, 5 * 2 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), 2, 0.01);
}

TEST(Synthetic, AllClassesAppear) {
  const SyntheticDataSet set({.samples = 10000, .shape = {1, 1, 3}});
  std::vector<int> counts(10);
  for (std::uint64_t i = 0; i < set.size(); ++i) ++counts.at(sample(set, i).label);
  EXPECT_THAT(counts, testing::Each(testing::AllOf(testing::Gt(850), testing::Lt(1150))));
}

TEST(Synthetic, CanBeLearned) {
  // The nearest prototype is the best possible guess; with little noise it is nearly always right.
  const SyntheticDataSet set({.samples = 300, .part = 1});
  int right = 0;
  for (std::uint64_t i = 0; i < set.size(); ++i) {
    const Sample it = sample(set, i);
    std::uint32_t best = 0;
    double smallest = HUGE_VAL;
    for (std::uint32_t label = 0; label < set.classes(); ++label) {
      double distance = 0;
      for (std::size_t p = 0; p < it.values.size(); ++p) {
        distance += std::pow(it.values[p] - set.prototype(label)[p], 2);
      }
      if (distance < smallest) smallest = distance, best = label;
    }
    right += best == it.label;
  }
  EXPECT_GT(right, 290);
}

}  // namespace
}  // namespace steelyard::synthetic_test
