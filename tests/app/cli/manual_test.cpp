#include "app/cli/manual.h"

#include <gmock/gmock.h>

#include "app/cli/command_line.h"

namespace steelyard::manual_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const ProgramText toy{
    "toy",
    "1.2",
    "Plays.\n.dots are no requests",
    "Exit codes:\n  0 good",
    {{"play",
      "plays a game",
      {{"JOB", "", "what"}, {"--sync", "MODE", "when", {"bsp", "asp"}}, {"--quiet", "", "says -nothing-"}},
      "Ctrl-C ends it"},
     {"help", "tells", {{"topic", "", "of what", {"job", "hosts"}}}, ""}}};

TEST(Manual, AManPageHasEverythingAndNoRequestsByAccident) {
  const std::string page = man_page(toy);
  EXPECT_THAT(page, HasSubstr(".TH TOY 1 \"\" \"toy 1.2\"\n"));
  EXPECT_THAT(page, HasSubstr("\n\\&.dots are no requests\n"));
  EXPECT_THAT(page, HasSubstr(".SS toy play\nplays a game\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n.B \\-\\-sync \\fIMODE\\fR\nwhen\n"));
  EXPECT_THAT(page, HasSubstr(".TP\n.B \\-\\-quiet\nsays \\-nothing\\-\n"));
  EXPECT_THAT(page, HasSubstr("Ctrl\\-C ends it"));
  EXPECT_THAT(page, HasSubstr(".SH EXIT STATUS\n.nf\nExit codes:\n  0 good\n"));
}

TEST(Manual, CompletionKnowsCommandsOptionsAndWords) {
  const std::string script = bash_completion(toy);
  EXPECT_THAT(script, HasSubstr("words=\"play help --help --version\""));
  EXPECT_THAT(script, HasSubstr("    play) words=\"--sync --quiet\" ;;\n"));
  EXPECT_THAT(script, HasSubstr("    help) words=\"job hosts\" ;;\n"));
  EXPECT_THAT(script, HasSubstr("    --sync) words=\"bsp asp\" ;;\n"));
  EXPECT_THAT(script, HasSubstr("complete -o filenames -F _toy toy\n"));
}

std::string said(const std::vector<const char*>& arguments) {
  std::vector<const char*> all{"steelyard"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return std::get<TextCommand>(read_command_line(static_cast<int>(all.size()), all.data())).text;
}

// Of the program itself: every command that people may type, and its options.
TEST(Manual, TheCommandLineDescribesItself) {
  const std::string page = said({"help", "--man"}), script = said({"help", "--completion", "bash"});
  for (const char* command : {"train", "run", "scheduler", "server", "worker", "simulate", "compare",
                              "launch", "profile", "help"}) {
    EXPECT_THAT(page, HasSubstr(".SS steelyard " + std::string(command) + "\n"));
    EXPECT_THAT(script, HasSubstr("    " + std::string(command) + ") words=\""));
  }
  EXPECT_THAT(page, HasSubstr(".B \\-\\-resume\\-from \\fITEXT\\fR\ngo on from this checkpoint directory\n"));
  EXPECT_THAT(page, HasSubstr("75 ended on request, resume later"));
  EXPECT_THAT(script, HasSubstr("--resume --resume-from "));
  EXPECT_THAT(script, HasSubstr("    --policy) words=\"steelyard equal "));
  EXPECT_THAT(page, Not(HasSubstr("attend"))) << "what people do not type";
  EXPECT_THAT(page, Not(HasSubstr("run\\-dir\\-ready")));
}

}  // namespace
}  // namespace steelyard::manual_test
