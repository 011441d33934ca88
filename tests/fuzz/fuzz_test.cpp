// The fuzzers' entry points over seeded mutations of valid bytes: no fuzzer needed, the same inputs every
// time.
#include <gtest/gtest.h>

#include "tests/fuzz/targets.h"

namespace steelyard::fuzz::fuzz_test {
namespace {

class Fuzz : public testing::TestWithParam<Target> {};

TEST_P(Fuzz, ValidBytesAreBelieved) {
  for (const Bytes& input : GetParam().corpus()) EXPECT_TRUE(GetParam().read(input));
}

TEST_P(Fuzz, MutatedBytesAreBelievedOrRefused) {
  const std::vector<Bytes> corpus = GetParam().corpus();
  const int inputs = GetParam().inputs;
  int believed = 0;
  for (int seed = 0; seed < inputs; ++seed) {
    SCOPED_TRACE("script/fuzz " + GetParam().name + " --inputs 1 --seed " + std::to_string(seed));
    believed += GetParam().read(mutated(corpus, static_cast<std::uint64_t>(seed))) ? 1 : 0;
  }
  EXPECT_GT(believed, inputs / 100) << "mutations that go everywhere";
  EXPECT_LT(believed, inputs * 99 / 100) << "mutations that damage";
}

INSTANTIATE_TEST_SUITE_P(Readers, Fuzz, testing::ValuesIn(targets()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace steelyard::fuzz::fuzz_test
