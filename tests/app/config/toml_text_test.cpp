#include "app/config/toml_section.h"

#include <gmock/gmock.h>

#include <cstdlib>

namespace steelyard::toml_text_test {
namespace {

TEST(TomlText, AnyTextCanBeQuoted) {
  EXPECT_EQ(toml_quoted("plain"), "\"plain\"");
  EXPECT_EQ(toml_quoted("a\"b\\c\n\x7f"), R"("a\"b\\c\u000A\u007F")");
  EXPECT_EQ(toml_quoted("ü"), "\"ü\"");
}

TEST(TomlText, NumbersAreShortAndExact) {
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(512), "512");
  EXPECT_EQ(number_text(-100000), "-100000");
  EXPECT_EQ(number_text(-0.0), "0");
  EXPECT_EQ(number_text(1e300), "1e+300");
  for (const double value : {1.0 / 3, 5e-324, 123456789.123, 1e15, 0.0005}) {
    EXPECT_EQ(std::strtod(number_text(value).c_str(), nullptr), value);
  }
}

TEST(TomlText, OptionsAreBareOnlyIfTheyReadBack) {
  for (const char* bare : {"5", "-3", "0.25", "1e+300", "true", "false", R"(["a","3"])"})
    EXPECT_EQ(option_text(bare), bare);
  for (const char* text : {"007", "1e3", "5.0", "nan", "inf", "+5", "", "True", "0x10", "fast", "[1]"}) {
    EXPECT_EQ(option_text(text), "\"" + std::string(text) + "\"");
  }
}

}  // namespace
}  // namespace steelyard::toml_text_test
