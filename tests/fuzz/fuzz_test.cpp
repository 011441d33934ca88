// The fuzzers' entry points with seeded mutations of valid inputs: the same inputs every time, without a
// fuzzer.
#include <gtest/gtest.h>

#include "tests/fuzz/targets.h"

namespace steelyard::fuzz::fuzz_test {
namespace {

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, ValidInputsAreAccepted) {
  for (const Bytes& input : GetParam().corpus()) EXPECT_TRUE(GetParam().read(input));
}

TEST_P(Fuzz, MutatedInputsAreAcceptedOrRefused) {
  const std::vector<Bytes> corpus = GetParam().corpus();
  const int inputs = GetParam().inputs;
  int accepted = 0;
  for (int seed = 0; seed < inputs; ++seed) {
    SCOPED_TRACE("script/fuzz " + GetParam().name + " --inputs 1 --seed " + std::to_string(seed));
    accepted += GetParam().read(mutated(corpus, static_cast<std::uint64_t>(seed))) ? 1 : 0;
  }
  EXPECT_GT(accepted, inputs / 100) << "some mutations must be accepted";
  EXPECT_LT(accepted, inputs * 99 / 100) << "some mutations must be refused";
}

INSTANTIATE_TEST_SUITE_P(Readers, Fuzz, testing::ValuesIn(targets()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace steelyard::fuzz::fuzz_test
