#include "core/option_list.h"

#include <gmock/gmock.h>

namespace steelyard::option_list_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> list_in(const OptionTexts& given) {
  return list_of(Options("data set 'mine'", {list_option("columns", "")}, given), "columns");
}

TEST(OptionList, HoldsTexts) {
  EXPECT_THAT(list_in({}), IsEmpty());
  EXPECT_THAT(list_in({{"columns", R"(["a, \"b\"","3"])"}}), ElementsAre("a, \"b\"", "3"));
  EXPECT_THAT(list_in({{"columns", "height"}}), ElementsAre("height")) << "one text is a list";
}

TEST(OptionList, RefusesOtherValues) {
  const Option option = list_option("columns", "");
  for (const char* bad : {"", "[]", "[1]", R"(["a")", R"(["a",["b"]])"})
    EXPECT_FALSE(option.accepts(bad)) << bad;
}

TEST(OptionList, ReadsBack) {
  const std::string text = option_list_text({"a\tb", "\\", "\"", "ü"});
  EXPECT_THAT(list_in({{"columns", text}}), ElementsAre("a\tb", "\\", "\"", "ü"));
  EXPECT_TRUE(is_option_list(text));
  for (const char* other : {"a", "", "[]", "[ \"a\" ]", "[1]", "[a"})
    EXPECT_FALSE(is_option_list(other)) << other;
}

}  // namespace
}  // namespace steelyard::option_list_test
