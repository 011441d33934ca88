#include "app/config/prepare_job.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace steelyard::reproducible_test {
namespace {

using ::testing::HasSubstr;

Job read(const std::string& rest) {
  return parse_job("[cluster]\nreproducible = true\n" + rest, "j.toml").job;
}

std::string refusal(const std::string& rest) {
  try {
    (void)read(rest);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "accepted";
}

TEST(Reproducible, SumsAreOrderedByGrains) {
  const Job job = read("[[worker]]\n");
  EXPECT_EQ(job.sum_order, SumOrder::positions);
  EXPECT_EQ(job.grain, 32U);
}

TEST(Reproducible, SettingsThatChangeTheBitsAreRefused) {
  EXPECT_THAT(refusal("sync = \"ssp:2\"\n[[worker]]\n"), HasSubstr("choose bsp"));
  EXPECT_THAT(refusal("sync = \"flexrr\"\n[[worker]]\n"), HasSubstr("choose bsp"));
  EXPECT_THAT(refusal("push_encoding = \"bf16\"\n[[worker]]\n"),
              HasSubstr("leave push_encoding and pull_encoding out"));
  EXPECT_THAT(refusal("[model]\nname = \"external\"\n[[worker]]\n"), HasSubstr("built-in model"));
  EXPECT_THAT(refusal("[[worker]]\nname = \"a\"\nprecision = \"bf16\"\n"), HasSubstr("worker \"a\""));
}

}  // namespace
}  // namespace steelyard::reproducible_test
