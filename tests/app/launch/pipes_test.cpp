#include "app/launch/pipes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>

namespace steelyard::pipes_test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

void put(const Descriptor& end, const std::string& text) {
  ASSERT_EQ(::write(end.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
}

TEST(LaunchPipes, LinesAreReassembledFromAnyParts) {
  Pipe pipe = make_pipe();
  LineReader reader(std::move(pipe.read), 100);
  EXPECT_THAT(reader.read(), IsEmpty());
  put(pipe.write, "one\ntw");
  EXPECT_THAT(reader.read(), ElementsAre("one"));
  put(pipe.write, "o\n\nthree");
  EXPECT_THAT(reader.read(), ElementsAre("two", ""));
  EXPECT_FALSE(reader.ended());
  pipe.write = Descriptor();
  EXPECT_THAT(reader.read(), ElementsAre("three"));
  EXPECT_TRUE(reader.ended());
}

TEST(LaunchPipes, LongLinesAreSplit) {
  Pipe pipe = make_pipe();
  LineReader reader(std::move(pipe.read), 4);
  put(pipe.write, "abcdefghij\n");
  EXPECT_THAT(reader.read(), ElementsAre("abcd", "efgh", "ij"));
  put(pipe.write, "abcd\n\nef\n");
  EXPECT_THAT(reader.read(), ElementsAre("abcd", "", "ef")) << "the newline ends a full line";
}

TEST(LaunchPipes, AStalledReaderDoesNotBlockTheWriter) {
  Pipe pipe = make_pipe();
  LineWriter writer(std::move(pipe.write));
  const std::string line(100'000, 'x');  // more than the buffer of the pipe
  writer.add(line);
  writer.add("last");
  EXPECT_GT(writer.waiting(), 0U);
  LineReader reader(std::move(pipe.read), 1 << 20);
  std::vector<std::string> lines;
  for (int turn = 0; turn < 100 && lines.size() < 2; ++turn) {
    for (std::string& it : reader.read()) lines.push_back(std::move(it));
    writer.flush();
  }
  EXPECT_THAT(lines, ElementsAre(line, "last"));
  EXPECT_EQ(writer.waiting(), 0U);
}

TEST(LaunchPipes, WaitingOutputIsLimited) {
  Pipe pipe = make_pipe();
  LineWriter writer(std::move(pipe.write));
  const std::string line(1 << 20, 'x');
  for (int i = 0; i < 50; ++i) writer.add(line);
  EXPECT_LE(writer.waiting(), 32U << 20);
  EXPECT_GT(writer.waiting(), 30U << 20);
}

TEST(LaunchPipes, AClosedReaderIsDetected) {
  const auto before = std::signal(SIGPIPE, SIG_IGN);
  Pipe pipe = make_pipe();
  LineWriter writer(std::move(pipe.write));
  pipe.read = Descriptor();
  writer.add("hello?");
  EXPECT_TRUE(writer.broken());
  std::signal(SIGPIPE, before);
}

TEST(LaunchPipes, ATextCanBeReadFromItsBeginning) {
  const Descriptor file = text_to_read("one\ntwo\n");
  char text[20] = {};
  EXPECT_EQ(::read(file.get(), text, sizeof text), 8);
  EXPECT_STREQ(text, "one\ntwo\n");
}

TEST(LaunchPipes, ChildrenDoNotInheritDescriptors) {
  const Pipe pipe = make_pipe();
  const Descriptor file = text_to_read("x");
  for (const int number : {pipe.read.get(), pipe.write.get(), file.get()}) {
    EXPECT_NE(fcntl(number, F_GETFD) & FD_CLOEXEC, 0);
  }
}

}  // namespace
}  // namespace steelyard::pipes_test
