#include "app/report/terminal_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace steelyard::terminal_writer_test {
namespace {

// A pipe that buffers 4096 bytes; the test decides when it is read.
class TerminalWriterTest : public ::testing::Test {
 protected:
  TerminalWriterTest() {
    EXPECT_EQ(::pipe(ends_.data()), 0);
    EXPECT_GT(::fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
  }
  ~TerminalWriterTest() override {
    ::close(ends_[0]);
    close_writing();
  }
  void close_writing() {
    if (ends_[1] >= 0) ::close(std::exchange(ends_[1], -1));
  }
  // Reads until the writing end is closed.
  std::string read_all() const {
    std::string all;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = ::read(ends_[0], part.data(), part.size())) > 0;)
      all.append(part.data(), static_cast<std::size_t>(got));
    return all;
  }
  // Reads until everything is written.
  std::string read_while_it_settles(TerminalWriter& writer) {
    std::string all;
    std::thread reader([&] { all = read_all(); });
    EXPECT_TRUE(writer.settle(std::chrono::minutes(1)));
    close_writing();
    reader.join();
    return all;
  }

  std::array<int, 2> ends_{-1, -1};
};

// 100 lines of 100 characters exceed the pipe: the test ends only if the caller does not block.
TEST_F(TerminalWriterTest, LinesAreQueuedAndFramesAreDropped) {
  TerminalWriter writer(ends_[1]);
  TerminalStream stream(writer);
  std::ostream out(&stream);
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    const std::string line = std::to_string(i) + std::string(100, '.') + "\n";
    lines += line;
    out << line << std::flush;
  }
  for (int i = 0; i < 100'000; ++i) out << '\r' << "frame" << i << std::flush;
  out << "last" << std::endl;
  EXPECT_EQ(read_while_it_settles(writer), lines + "last\n");
}

TEST_F(TerminalWriterTest, AReaderReceivesFramesToo) {
  TerminalWriter writer(ends_[1]);
  TerminalStream stream(writer);
  std::ostream out(&stream);
  out << '\r' << "frame" << 1 << std::flush;
  EXPECT_EQ(read_while_it_settles(writer), "\rframe1");
}

TEST_F(TerminalWriterTest, DroppedLinesAreCounted) {
  TerminalWriter writer(ends_[1]);
  TerminalStream stream(writer);
  std::ostream out(&stream);
  const std::string line(4000, 'x');
  for (int i = 0; i < 5000; ++i) out << line << std::endl;
  const std::string all = read_while_it_settles(writer);
  EXPECT_GE(std::ranges::count(all, 'x'), 4096 * 4000);
  const std::size_t kept = static_cast<std::size_t>(std::ranges::count(all, 'x')) / 4000;
  EXPECT_TRUE(all.ends_with("\n(" + std::to_string(5000 - kept) +
                            " lines were not shown here: the reader was too slow)\n"));
}

TEST_F(TerminalWriterTest, AClosedTerminalIsIgnored) {
  TerminalWriter writer(-1);
  TerminalStream stream(writer);
  std::ostream out(&stream);
  for (int i = 0; i < 10'000; ++i) out << "to no reader" << std::endl;
  EXPECT_TRUE(writer.settle());
}

TEST_F(TerminalWriterTest, LinesOfAFileHaveTimeAndLevel) {
  EXPECT_EQ(formatted_line(LineFormat::dated, 1777878489.1234, LogLevel::warning, "no disk"),
            "2026-05-04T07:08:09.123Z warning no disk");
  EXPECT_EQ(formatted_line(LineFormat::dated, 0, LogLevel::info, "x"), "1970-01-01T00:00:00.000Z info    x");
  EXPECT_EQ(formatted_line(LineFormat::json, 0, LogLevel::error, "a \"b\""),
            R"({"time":"1970-01-01T00:00:00.000Z","level":"error","text":"a \"b\""})");
  EXPECT_EQ(formatted_line(LineFormat::plain, 0, LogLevel::error, "x"), "x");
  for (const LogLevel level : {LogLevel::info, LogLevel::warning, LogLevel::error})
    EXPECT_EQ(without_date(formatted_line(LineFormat::dated, 5, level, "steelyard: no")), "steelyard: no");
  EXPECT_EQ(without_date("steelyard: a line of its own, longer than a date"),
            "steelyard: a line of its own, longer than a date");

  TerminalWriter writer(ends_[1], LineFormat::dated);
  writer.write("one\ntwo\n");
  writer.line("three", LogLevel::error);
  writer.write("\rframe");
  EXPECT_THAT(
      read_while_it_settles(writer),
      testing::MatchesRegex("....-..-..T..:..:..\\....Z info    one\n.*Z info    two\n.*Z error   three\n"
                            "(\rframe)?"));
}

TEST_F(TerminalWriterTest, OnlyAFileIsDatedByDefault) {
  EXPECT_EQ(line_format(ends_[1]), LineFormat::plain);
  const int file = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(line_format(file), LineFormat::dated);
  ::setenv("STEELYARD_LOG", "json", 1);
  EXPECT_EQ(line_format(file), LineFormat::json);
  ::setenv("STEELYARD_LOG", "plain", 1);
  EXPECT_EQ(line_format(file), LineFormat::plain);
  ::unsetenv("STEELYARD_LOG");
  ::close(file);
}

TEST_F(TerminalWriterTest, AnyThreadMayWriteLines) {
  TerminalWriter writer(ends_[1]);
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&writer] {
      for (int line = 0; line < 500; ++line) writer.line("a line");
    });
  }
  for (std::thread& it : all) it.join();
  std::string expected;
  for (int i = 0; i < 2000; ++i) expected += "a line\n";
  EXPECT_EQ(read_while_it_settles(writer), expected);
}

// A process that exits does not wait for a reader that has stopped.
TEST_F(TerminalWriterTest, ShutdownDoesNotWaitForAStalledReader) {
  {
    TerminalWriter writer(ends_[1]);
    for (int i = 0; i < 200; ++i) writer.line(std::string(100, 'x'));
    EXPECT_FALSE(writer.settle(milliseconds(20)));
  }
  // The thread that is still in write() ends when its reader closes the pipe.
  std::array<char, 4096> part{};
  EXPECT_GT(::read(ends_[0], part.data(), part.size()), 0) << "the pipe was filled";
}

TEST_F(TerminalWriterTest, ALineReplacesTheFrame) {
  TerminalWriter writer(ends_[1]);
  writer.write("\rframe");
  EXPECT_TRUE(writer.settle());
  writer.line("a line");
  writer.line("and another");
  EXPECT_EQ(read_while_it_settles(writer), "\rframe\r\033[Ka line\nand another\n");
}

}  // namespace
}  // namespace steelyard::terminal_writer_test
