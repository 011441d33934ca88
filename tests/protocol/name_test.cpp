#include "protocol/node.h"

#include <gmock/gmock.h>

#include "core/error.h"

namespace steelyard::name_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Name, ConsistsOfLettersDigitsAndSomeSigns) {
  for (const char* name : {"a", "box-7", "server-0/63", "ada@box.example.org:7070", "A_1+B", ".", "-x"}) {
    EXPECT_TRUE(valid_name(name)) << name;
  }
  for (const char* name :
       {"", " ", "two words", "a\nb", "\x1b[31mred", "ad\xc3\xa9", "a'b", "a\"b", "a\\b"}) {
    EXPECT_FALSE(valid_name(name)) << name;
  }
  EXPECT_FALSE(valid_name(std::string_view("a\0b", 3)));
  EXPECT_TRUE(valid_name(std::string(longest_name, 'x')));
  EXPECT_FALSE(valid_name(std::string(longest_name + 1, 'x')));
}

std::string complaint(std::string_view name) {
  try {
    check_name("--name", name);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::usage);
    return failure.what();
  }
  return "";
}

TEST(Name, ARefusalSanitisesAndTruncatesTheName) {
  EXPECT_EQ(complaint("ada"), "");
  EXPECT_EQ(complaint("a\x1b[2J\n"),
            "--name 'a?[2J?' is not a valid name: give 1 to 64 letters, digits and any of . _ - : / @ +");
  EXPECT_EQ(complaint(""),
            "--name '' is not a valid name: give 1 to 64 letters, digits and any of . _ - : / @ +");
  EXPECT_THAT(complaint(std::string(3000, 'x')),
              AllOf(HasSubstr("xxx...' has 3000 letters"), Not(HasSubstr(std::string(65, 'x')))));
}

}  // namespace
}  // namespace steelyard::name_test
