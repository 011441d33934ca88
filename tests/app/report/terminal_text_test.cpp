#include "app/report/terminal_text.h"

#include <gmock/gmock.h>

namespace steelyard::terminal_text_test {
namespace {

TEST(TerminalText, NumbersAreFormattedAsByPrintf) {
  EXPECT_EQ(printed("%.2f %%, %s", 12.375, "twelve"), "12.38 %, twelve");
  EXPECT_EQ(printed("%s", std::string(5000, 'a').c_str()), std::string(5000, 'a'));
  EXPECT_EQ(fixed(0.125, 1), "0.1");
  EXPECT_EQ(count_of(1, "core") + ", " + count_of(2, "core"), "1 core, 2 cores");
}

TEST(TerminalText, PlainTextIsUnchanged) {
  EXPECT_EQ(shown_line("worker 'box-7' is lost (±3 %): größer, 東京"),
            "worker 'box-7' is lost (±3 %): größer, 東京");
  EXPECT_EQ(shown_line(""), "");
  EXPECT_EQ(shown_lines("one\ntwo\n"), "one\ntwo\n");
}

// Escape codes, fake lines, the window title, an 8-bit CSI and right-to-left overrides.
TEST(TerminalText, ControlCharactersAreEscaped) {
  EXPECT_EQ(shown_line("a\033[2Jb"), "a\\x1b[2Jb");
  EXPECT_EQ(shown_line("lost\nsteelyard: all is well\r\tx"), "lost\\nsteelyard: all is well\\x0d\\tx");
  EXPECT_EQ(shown_line("\033]0;title\a\x7f"), "\\x1b]0;title\\x07\\x7f");
  EXPECT_EQ(shown_line("\xC2\x9B"
                       "31m"),
            "\\x9b31m");
  EXPECT_EQ(shown_line("\x9B"
                       "31m"),
            "\\x9b31m");
  EXPECT_EQ(shown_line("a\xE2\x80\xAE"
                       "b\xE2\x80\xA8"
                       "c"),
            "a\\u202eb\\u2028c");
  EXPECT_EQ(shown_line(std::string("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(shown_lines("one\033[A\ntwo\r"), "one\\x1b[A\ntwo\\x0d");
}

// Truncated sequences, overlong encodings, surrogates, and values beyond U+10FFFF.
TEST(TerminalText, BytesThatAreNotUtf8AreEscaped) {
  EXPECT_EQ(shown_line("\xE2\x82"), "\\xe2\\x82");
  EXPECT_EQ(shown_line("\xC0\x9B"), "\\xc0\\x9b");
  EXPECT_EQ(shown_line("\xE0\x82\x9B"), "\\xe0\\x82\\x9b");
  EXPECT_EQ(shown_line("\xED\xA0\x80"), "\\xed\\xa0\\x80");
  EXPECT_EQ(shown_line("\xF4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");
  EXPECT_EQ(shown_line("\xFF"), "\\xff");
  EXPECT_EQ(shown_line("\xC3"
                       "A"),
            "\\xc3A");
}

TEST(TerminalText, LongTextsAreTruncated) {
  EXPECT_EQ(shown_line("abcdef", 6), "abcdef");
  EXPECT_EQ(shown_line("abcdefg", 6), "abcde…");
  EXPECT_EQ(shown_line("ääääää", 6), "ääääää");
  EXPECT_EQ(shown_line("äääääää", 6), "äääää…");
  EXPECT_EQ(shown_line("abcd\033\033", 6), "abcd…") << "an escape is not split";
  EXPECT_EQ(shown_lines("abcdefg\nabc\nabcdefgh", 6), "abcde…\nabc\nabcde…");
  EXPECT_EQ(columns_of(shown_line(std::string(100'000, 'x'))), 2000U);
}

TEST(TerminalText, TextWrapsAtBlanksAndBetweenShares) {
  EXPECT_EQ(wrapped("one two three", 20, 2), "one two three");
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("  one  two three", 8, 2), "  one\n  two\n  three");
  EXPECT_EQ(wrapped("12+34+56+78", 6, 1), "12+34+\n 56+78");
  EXPECT_EQ(wrapped("a runs/very/long/path b", 8, 2), "a\n  runs/very/long/path\n  b");
  EXPECT_EQ(wrapped("±1 ±2 ±3", 5, 0), "±1 ±2\n±3");
  EXPECT_EQ(wrapped("", 5, 3), "");
}

}  // namespace
}  // namespace steelyard::terminal_text_test
