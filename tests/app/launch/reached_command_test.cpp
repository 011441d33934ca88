// A command with pipes, with a shell in place of ssh.
#include "app/launch/reached_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/process_run.h"

namespace steelyard::reached_command_test {
namespace {

using testing::ElementsAre;

LaunchHost host(const std::string& script) {
  LaunchHost it;
  it.spec.name = "ant";
  it.command = {"sh", "-c", script};
  return it;
}

TEST(ReachedCommand, AnswersWhatItIsSent) {
  ReachedCommand command(host("read line; echo \"got $line\""));
  command.send("this");
  std::vector<std::string> answers;
  EXPECT_TRUE(eventually([&] {
    (void)command.look();
    answers = command.answers();
    return !answers.empty();
  }));
  EXPECT_THAT(answers, ElementsAre("got this"));
}

TEST(ReachedCommand, ItsStatusAndLastWordsStay) {
  ReachedCommand command(host("for i in 1 2 3 4 5 6; do printf \"no $i\\r\\n\" >&2; done; exit 7"));
  std::vector<std::string> errors;
  EXPECT_TRUE(eventually([&] {
    for (const std::string& line : command.look()) errors.push_back(line);
    return command.status().has_value();
  }));
  EXPECT_EQ(errors.size(), 6U);
  EXPECT_EQ(errors.front(), "no 1");
  EXPECT_EQ(command.last_words(), "no 2; no 3; no 4; no 5; no 6");
  EXPECT_EQ(WEXITSTATUS(command.status().value()), 7);
  EXPECT_TRUE(command.over());
}

}  // namespace
}  // namespace steelyard::reached_command_test
