#include "report/terminal_writer.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <thread>
#include <utility>

namespace steelyard {
namespace {

// A pipe that holds a page and is read when the test wants to.
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
  // Until the other end is closed.
  std::string read_all() const {
    std::string all;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = ::read(ends_[0], part.data(), part.size())) > 0;)
      all.append(part.data(), static_cast<std::size_t>(got));
    return all;
  }
  // What is read, from now on, while `end` ends all writing.
  template <class End>
  std::string read_while(const End& end) {
    std::string all;
    std::thread reader([&] { all = read_all(); });
    end();
    close_writing();
    reader.join();
    return all;
  }

  std::array<int, 2> ends_{-1, -1};
};

// 100 lines of 100 letters do not fit the pipe: that this goes on shows that nobody is held up.
TEST_F(TerminalWriterTest, LinesWaitForTheReaderAndFramesDoNot) {
  TerminalWriter writer(ends_[1]);
  std::ostream out(&writer);
  std::string lines;
  for (int i = 0; i < 100; ++i) {
    const std::string line = std::to_string(i) + std::string(100, '.') + "\n";
    lines += line;
    out << line << std::flush;
  }
  for (int i = 0; i < 100'000; ++i) out << '\r' << "frame" << i << std::flush;
  out << "last" << std::endl;
  EXPECT_EQ(read_while([&] { writer.finish(); }), lines + "last\n");
}

TEST_F(TerminalWriterTest, WhoReadsSeesFramesToo) {
  TerminalWriter writer(ends_[1]);
  std::ostream out(&writer);
  out << '\r' << "frame" << 1 << std::flush;
  EXPECT_EQ(read_while([&] { writer.finish(); }), "\rframe1");
}

TEST_F(TerminalWriterTest, TooManyLinesAreCounted) {
  TerminalWriter writer(ends_[1]);
  std::ostream out(&writer);
  const std::string line(4000, 'x');
  for (int i = 0; i < 5000; ++i) out << line << std::endl;
  const std::string all = read_while([&] { writer.finish(); });
  EXPECT_GE(std::ranges::count(all, 'x'), 4096 * 4000);
  const std::size_t kept = static_cast<std::size_t>(std::ranges::count(all, 'x')) / 4000;
  EXPECT_TRUE(
      all.ends_with("\n(" + std::to_string(5000 - kept) + " lines before were not shown: nobody read)\n"));
}

TEST_F(TerminalWriterTest, WhereTheOtherEndIsGoneNothingHappens) {
  TerminalWriter writer(-1);
  std::ostream out(&writer);
  for (int i = 0; i < 10'000; ++i) out << "to nobody" << std::endl;
  writer.finish();
}

}  // namespace
}  // namespace steelyard
