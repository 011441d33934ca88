// Completion for shells: every public command and its options.
#include "app/cli/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "app/cli/command_line.h"

namespace steelyard::completion_test {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

std::string completion(const char* shell) {
  const char* const arguments[] = {"steelyard", "help", "--completion", shell};
  testing::internal::CaptureStdout();
  EXPECT_EQ(read_command_line(4, arguments)(), 0);
  return testing::internal::GetCapturedStdout();
}

TEST(Completion, OfBashListsCommandsOptionsAndValues) {
  const std::string script = completion("bash");
  for (const std::string command :
       {"train", "run", "scheduler", "server", "worker", "simulate", "compare", "launch", "profile", "help"})
    EXPECT_THAT(script, HasSubstr("    " + command + ") words=\""));
  EXPECT_THAT(script, HasSubstr("words=\"train run "));
  EXPECT_THAT(script, HasSubstr(" help --help --version\"\n"));
  EXPECT_THAT(script, HasSubstr("    train) words=\"--help --set "));
  EXPECT_THAT(script, HasSubstr("--resume --resume-from "));
  EXPECT_THAT(script, HasSubstr("    --policy) words=\"boa cannikin "));
  EXPECT_THAT(script, HasSubstr("    help) words=\"--help job scenario "));
  EXPECT_THAT(script, HasSubstr("complete -o filenames -F _steelyard steelyard\n"));
  EXPECT_THAT(script, Not(HasSubstr("attend"))) << "an internal command";
  EXPECT_THAT(script, Not(HasSubstr("run-dir-ready")));
}

TEST(Completion, OfZshDescribesCommandsAndOptions) {
  const std::string script = completion("zsh");
  EXPECT_TRUE(script.starts_with("#compdef steelyard\n"));
  EXPECT_THAT(
      script,
      HasSubstr("      'train:run a job on this machine\\: starts scheduler, servers and workers'\n"));
  EXPECT_THAT(script, HasSubstr("    train) found=(\n      '--help:"));
  EXPECT_THAT(script, HasSubstr("    --policy) compadd boa cannikin "));
  EXPECT_THAT(script, ContainsRegex("status:print a run'.''s progress")) << "a quote ends and begins again";
  EXPECT_THAT(script, Not(HasSubstr("attend")));
}

TEST(Completion, OfFishDescribesCommandsAndOptions) {
  const std::string script = completion("fish");
  EXPECT_THAT(script,
              HasSubstr("complete -c steelyard -n __fish_use_subcommand -f -a train -d 'run a job on"));
  EXPECT_THAT(script,
              HasSubstr("complete -c steelyard -n '__fish_seen_subcommand_from train' -l resume -d '"));
  EXPECT_THAT(script, HasSubstr("-a status -d 'print a run\\'s progress"));
  EXPECT_THAT(script, ContainsRegex("-l policy -d '[^\n]*' -x -a 'boa cannikin "));
  EXPECT_THAT(script, Not(HasSubstr("attend")));
}

}  // namespace
}  // namespace steelyard::completion_test
