#include "core/text.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace steelyard::text_test {
namespace {

TEST(Text, TrimmingAffectsTheEndsOnly) {
  EXPECT_EQ(trimmed(" \ta b\t "), "a b");
  EXPECT_EQ(trimmed("a"), "a");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

TEST(Text, LinesAreSplitWithoutLineEnds) {
  const auto lines = [](std::string_view text) {
    std::string all;
    for_each_line(text, [&](std::string_view line) { all += "[" + std::string(line) + "]"; });
    return all;
  };
  EXPECT_EQ(lines("a\n\nb\n"), "[a][][b]");
  EXPECT_EQ(lines("a\nb"), "[a][b]");
  EXPECT_EQ(lines(""), "");
}

TEST(Text, ANumberMustBeTheWholeText) {
  EXPECT_EQ(number_in<double>("-1.5e3"), -1500.0);
  EXPECT_EQ(number_in<std::uint64_t>("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(number_in<int>("-7"), -7);
  for (const char* bad : {"", " 1", "1 ", "1,5", "1x", "x", "0x10", "+1", "nan", "inf", "1e999"}) {
    EXPECT_FALSE(number_in<double>(bad)) << bad;
  }
  for (const char* bad : {"", "-1", "1.0", "1e3", "18446744073709551616"}) {
    EXPECT_FALSE(number_in<std::uint64_t>(bad)) << bad;
  }
}

TEST(Text, NumbersAreSeparatedByBlanks) {
  EXPECT_EQ(numbers_text({}), "");
  EXPECT_EQ(numbers_text({0.5, -2, 1e-3}), "0.5 -2 0.001");
}

}  // namespace
}  // namespace steelyard::text_test
