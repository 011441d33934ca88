#include "nn/cuda/algorithm_choice.h"

#include <gmock/gmock.h>

#include <map>
#include <vector>

#include "nn/cuda/runtime.h"

namespace steelyard::nn::cuda::algorithm_choice_test {
namespace {

// Algorithm 0 is the fastest.
Offer offer(int algorithm, Factors factors = Factors::float32) {
  return {.algorithm = algorithm, .math = 10 + algorithm, .works = true, .repeats = true, .factors = factors};
}

// Each offer needs as many bytes as listed for its algorithm; the library refuses others.
std::optional<int> chosen(const std::vector<Offer>& offers, Precision precision, std::uint64_t limit,
                          const std::map<int, std::uint64_t>& needs) {
  const auto choice = choose(offers, precision, limit, [&](const Offer& asked) {
    EXPECT_EQ(asked.math, 10 + asked.algorithm) << "asked with the math of another algorithm";
    const auto known = needs.find(asked.algorithm);
    return known == needs.end() ? std::nullopt : std::optional(known->second);
  });
  if (!choice) return std::nullopt;
  EXPECT_EQ(choice->workspace, needs.at(choice->offer.algorithm));
  EXPECT_EQ(choice->offer.math, 10 + choice->offer.algorithm);
  return choice->offer.algorithm;
}

TEST(AlgorithmChoice, TakesTheFirstThatFits) {
  const std::vector<Offer> offers{offer(0), offer(1), offer(2)};
  EXPECT_EQ(chosen(offers, Precision::float32, 100, {{0, 100}, {1, 5}, {2, 0}}), 0);
  EXPECT_EQ(chosen(offers, Precision::float32, 99, {{0, 100}, {1, 5}, {2, 0}}), 1);
  EXPECT_EQ(chosen(offers, Precision::float32, 100, {{2, 0}}), 2) << "the library refuses the others";
  EXPECT_EQ(chosen(offers, Precision::float32, 1, {{0, 100}, {1, 5}, {2, 2}}), std::nullopt);
  EXPECT_EQ(chosen({}, Precision::float32, 1, {}), std::nullopt);
}

TEST(AlgorithmChoice, SkipsFactorsThatThePrecisionForbids) {
  const std::vector<Offer> offers{offer(0, Factors::half), offer(1, Factors::tf32), offer(2)};
  const std::map<int, std::uint64_t> needs{{0, 0}, {1, 0}, {2, 0}};
  EXPECT_EQ(chosen(offers, Precision::bf16, 0, needs), 1) << "half would lose small gradients";
  EXPECT_EQ(chosen(offers, Precision::tf32, 0, needs), 1);
  EXPECT_EQ(chosen(offers, Precision::float32, 0, needs), 2);
}

TEST(AlgorithmChoice, SkipsWhatFailsOrGivesOtherBits) {
  std::vector<Offer> offers{offer(0), offer(1), offer(2)};
  offers[0].works = false;
  offers[1].repeats = false;
  EXPECT_EQ(chosen(offers, Precision::tf32, 9, {{0, 0}, {1, 0}, {2, 9}}), 2);
}

// Only exhausted memory makes micro-batches smaller, and only a missing algorithm leads to direct
// convolutions.
TEST(AlgorithmChoice, EachTroubleHasItsError) {
  raise(Trouble::none, "");
  EXPECT_THROW(raise(Trouble::memory, "m"), OutOfMemory);
  EXPECT_THROW(raise(Trouble::unsupported, "m"), NoAlgorithm);
  try {
    raise(Trouble::other, "a handle cannot be made");
    FAIL();
  } catch (const NoAlgorithm&) {
    FAIL() << "would fall back in silence";
  } catch (const OutOfMemory&) {
    FAIL() << "would halve the micro-batch";
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "a handle cannot be made");
  }
}

}  // namespace
}  // namespace steelyard::nn::cuda::algorithm_choice_test
