#include "app/hosts/conversation.h"

#include <gmock/gmock.h>

#include <csignal>

#include "protocol/codec.h"

namespace steelyard::conversation_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A host whose program is a shell script.
LaunchHost host_of(const std::string& script) {
  HostSpec spec;
  spec.name = "one";
  spec.through = {"env"};
  LaunchHost host{spec, "steelyard", reach_of(spec), {"sh", "-c", script}};
  return host;
}

std::string ready(int protocol = protocol_version) {
  return "echo '{\"ready\": \"steelyard 0.1.0\", \"protocol\": " + std::to_string(protocol) + "}'; ";
}

class ConversationTest : public testing::Test {
 protected:
  ConversationTest() { std::signal(SIGPIPE, SIG_IGN); }  // as the program does

  void begin(const std::string& script, Duration limit = std::chrono::seconds(20)) {
    host_ = host_of(script);
    it_.emplace(host_, "scheduler, ada");
    wait(limit);
  }
  void wait(Duration limit = std::chrono::seconds(20)) { wait_for({&*it_}, limit, "no answer"); }
  [[nodiscard]] std::string failure() const { return it_->failure() ? it_->failure()->what() : "none"; }

  LaunchHost host_;
  std::optional<Conversation> it_;
};

TEST_F(ConversationTest, EachQuestionHasItsAnswer) {
  begin("echo Welcome; " + ready() +
        "read a; echo no JSON; echo '{\"answer\": 1}'; read b; echo '{\"answer\": 2}'");
  ASSERT_TRUE(it_->answer()) << failure();
  EXPECT_EQ(text_at(*it_->answer(), "ready"), "steelyard 0.1.0");
  for (int i = 1; i <= 2; ++i) {
    it_->ask({{"ask", "x"}});
    EXPECT_FALSE(it_->answer()) << "the former answer is gone";
    wait();
    ASSERT_TRUE(it_->answer()) << failure();
    EXPECT_EQ((*it_->answer())["answer"], i);
  }
}

TEST_F(ConversationTest, TheOutputOfAFailureIsReported) {
  begin("echo no route >&2; exit 255");
  EXPECT_THAT(failure(),
              AllOf(HasSubstr("host 'one' (scheduler, ada)"), HasSubstr("no route"), HasSubstr("make `")));
  EXPECT_EQ(it_->failure()->code(), ExitCode::unreachable);
}

TEST_F(ConversationTest, AnEndBeforeTheAnswerIsAFailure) {
  begin(ready() + "exit 3");
  ASSERT_TRUE(it_->answer());
  it_->ask({{"ask", "x"}});
  wait();
  EXPECT_THAT(failure(), HasSubstr("exited with code 3"));
}

TEST_F(ConversationTest, AnotherReleaseIsAFailure) {
  begin(ready(protocol_version + 1) + "read a");
  EXPECT_EQ(it_->failure()->code(), ExitCode::protocol);
  EXPECT_THAT(failure(), AllOf(HasSubstr("steelyard 0.1.0"), HasSubstr("steelyard install HOSTS")));
}

TEST_F(ConversationTest, SilenceIsAFailure) {
  begin("read a", milliseconds(50));
  EXPECT_THAT(failure(), HasSubstr("host 'one': no answer within 0 s"));
}

}  // namespace
}  // namespace steelyard::conversation_test
