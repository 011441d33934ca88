#include "app/launch/pipes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::lines_test {
namespace {

using testing::ElementsAre;

template <class Kind>
Kind sent_to_host(const Kind& message) {
  const std::string line = to_line(ToHost(message));
  EXPECT_EQ(line.find('\n'), std::string::npos) << "a message is a line";
  const std::optional<ToHost> read = to_host(line);
  const Kind* it = read ? std::get_if<Kind>(&*read) : nullptr;
  EXPECT_NE(it, nullptr) << line;
  return it == nullptr ? Kind{} : *it;
}

template <class Kind>
Kind sent_by_host(const Kind& message) {
  const std::string line = to_line(FromHost(message));
  EXPECT_EQ(line.find('\n'), std::string::npos) << "a message is a line";
  const std::optional<FromHost> read = from_host(line);
  const Kind* it = read ? std::get_if<Kind>(&*read) : nullptr;
  EXPECT_NE(it, nullptr) << line;
  return it == nullptr ? Kind{} : *it;
}

TEST(LaunchLines, MessagesToAHostReadBack) {
  const auto start = sent_to_host(StartProcess{"ada", {"worker", "--name", "a \"b\"\n'c'"}, "x\ny = 1\n"});
  EXPECT_EQ(start.name, "ada");
  EXPECT_THAT(start.arguments, ElementsAre("worker", "--name", "a \"b\"\n'c'"));
  EXPECT_EQ(start.input, "x\ny = 1\n");
  EXPECT_EQ(start.program, "");
  const auto script =
      sent_to_host(StartProcess{"bob", {"-u"}, "", "python3", {"A=b c", "D="}, 3, {1, 4, 6, true}, "keys"});
  EXPECT_EQ(script.program, "python3");
  EXPECT_THAT(script.environment, ElementsAre("A=b c", "D="));
  EXPECT_EQ(script.sharing, 3U);
  EXPECT_EQ(script.cores.begin, 1U);
  EXPECT_EQ(script.cores.end, 4U);
  EXPECT_EQ(script.cores.of, 6U);
  EXPECT_TRUE(script.cores.equal_parts);
  EXPECT_EQ(script.keys, "keys");
  const SignalProcess signal = sent_to_host(SignalProcess{"ada", 15});
  EXPECT_EQ(signal.name, "ada");
  EXPECT_EQ(signal.signal, 15);
  sent_to_host(Beat{});
}

TEST(LaunchLines, MessagesFromAHostReadBack) {
  const auto ready = sent_by_host(HostReady{7, "steelyard 0.1.0\n"});
  EXPECT_EQ(ready.protocol, 7U);
  EXPECT_EQ(ready.release, "steelyard 0.1.0\n");
  for (const bool error : {false, true}) {
    const auto said = sent_by_host(Said{"ada", error, "epoch 1/5\t\"x\""});
    EXPECT_EQ(said.name, "ada");
    EXPECT_EQ(said.error, error);
    EXPECT_EQ(said.text, "epoch 1/5\t\"x\"");
  }
  const auto ended = sent_by_host(ProcessEnded{"ada", 19968});
  EXPECT_EQ(ended.name, "ada");
  EXPECT_EQ(ended.status, 19968);
}

TEST(LaunchLines, InvalidUtf8IsReplaced) {
  EXPECT_EQ(sent_by_host(Said{"ada", false, "a\xff z"}).text, "a\xEF\xBF\xBD z");
}

// A login shell may print a greeting, and a stranger may send anything.
TEST(LaunchLines, OtherLinesAreNotMessages) {
  for (const char* line : {"", "Welcome to lion!", "{", "[]", "17", "{}", "{\"else\":1}", "\"ready\""}) {
    EXPECT_FALSE(from_host(line)) << line;
    EXPECT_FALSE(to_host(line)) << line;
  }
}

TEST(LaunchLines, ValuesOfAnotherTypeAreIgnored) {
  const auto start = to_host(R"({"start":"ada","arguments":[1,2],"input":{}})");
  ASSERT_TRUE(start);
  EXPECT_EQ(std::get<StartProcess>(*start).name, "ada");
  EXPECT_TRUE(std::get<StartProcess>(*start).arguments.empty());
  const auto ended = from_host(R"({"ended":3,"status":"x"})");
  ASSERT_TRUE(ended);
  EXPECT_EQ(std::get<ProcessEnded>(*ended).name, "");
  for (const char* number : {"1e30", "1.5", "-1e300", "178888888888888888888888888888888888"}) {
    const auto signal = to_host(R"({"to":"ada","signal":)" + std::string(number) + "}");
    ASSERT_TRUE(signal) << number;
    EXPECT_EQ(std::get<SignalProcess>(*signal).signal, 0) << number;
  }
}

}  // namespace
}  // namespace steelyard::lines_test
