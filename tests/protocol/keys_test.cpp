#include "protocol/keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/error.h"

namespace steelyard::keys_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string one(key_letters, 'a'), two(key_letters, 'b'), three = std::string(39, 'c') + "#";

TEST(Keys, LinesAreReadAndWritten) {
  const KeyLines lines = parse_keys("# for people\n\nsecret worker ada " + one + " " + two +
                                        "\r\n  scheduler hub " + three + "\nserver s0 " + two,
                                    "here");
  ASSERT_EQ(lines.own.size(), 1U);
  EXPECT_EQ(lines.own[0].role, KeyRole::worker);
  EXPECT_EQ(lines.own[0].name, "ada");
  EXPECT_EQ(lines.own[0].public_key, one);
  EXPECT_EQ(lines.own[0].secret.letters(), two);
  ASSERT_EQ(lines.allowed.size(), 2U);
  EXPECT_EQ(lines.allowed.at(three).role, KeyRole::scheduler);
  EXPECT_EQ(lines.allowed.at(two).name, "s0");

  const KeyLines again = parse_keys(secret_line(lines.own[0]) + allow_lines(lines.allowed), "there");
  ASSERT_EQ(again.own.size(), 1U);
  EXPECT_EQ(again.own[0].secret.letters(), two);
  EXPECT_EQ(allow_lines(again.allowed), allow_lines(lines.allowed));
}

// A GPU worker that hosts shards is a server, too.
TEST(Keys, AFileMayHaveAKeyPairForEachRole) {
  const KeyLines lines = parse_keys(
      "secret worker ada " + one + " " + two + "\nsecret server ada " + three + " " + one + "\n", "here");
  ASSERT_EQ(lines.own.size(), 2U);
  EXPECT_EQ(lines.own[1].role, KeyRole::server);
  EXPECT_EQ(lines.own[1].public_key, three);
  EXPECT_EQ(lines.own[1].secret.letters(), one);
}

// Errors name the line's number and never its contents, which may be a secret.
TEST(Keys, InvalidLinesAreRefusedWithoutBeingShown) {
  for (const std::string& line : std::vector<std::string>{
           "worker ada", "worker ada short", "boss ada " + one, "worker a\x1b[m " + one,
           "worker ada " + one + " x", "secret worker ada " + one, "secret worker ada " + one + " short", one,
           "secret worker ada " + one + " " + two + "\nsecret worker eve " + two + " " + one,
           "worker ada " + one + "\nserver eve " + one}) {
    const bool second = line.find('\n') != std::string::npos;
    try {
      (void)parse_keys(line + "\n", "DIR/allowed");
      ADD_FAILURE() << line;
    } catch (const Failure& failure) {
      EXPECT_EQ(failure.code(), ExitCode::configuration);
      EXPECT_THAT(failure.what(), AllOf(HasSubstr(second ? "DIR/allowed, line 2" : "DIR/allowed, line 1"),
                                        Not(HasSubstr(one)), Not(HasSubstr(two))));
    }
  }
}

TEST(Keys, AKeyHasFortyLettersOfTheAlphabet) {
  EXPECT_TRUE(is_key("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7"));
  EXPECT_FALSE(is_key(std::string(39, 'a')));
  EXPECT_FALSE(is_key(std::string(41, 'a')));
  for (const char bad : {' ', '"', '\'', ',', ';', '_', '|', '~', '\\', '`', '\0'})
    EXPECT_FALSE(is_key(std::string(39, 'a') + bad)) << bad;
}

TEST(Keys, WipingOverwritesTheText) {
  std::string text = "secret words that are long enough to be somewhere else than in the string itself";
  const char* where = text.data();
  wipe(text);
  EXPECT_TRUE(text.empty());
  EXPECT_EQ(where[1], '\0');
}

}  // namespace
}  // namespace steelyard::keys_test
