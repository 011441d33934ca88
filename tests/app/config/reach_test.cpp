#include "app/config/reach.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace steelyard::reach_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsSupersetOf;

const std::vector<std::string> attend{"/opt/it's/steelyard", "attend"};

HostSpec host_through(std::vector<std::string> words) {
  HostSpec host;
  host.name = "n1";
  host.address = "10.0.0.1";
  host.through = std::move(words);
  return host;
}
std::vector<std::string> command_through(std::vector<std::string> words) {
  return reach_of(host_through(std::move(words))).command(attend);
}

TEST(HostReach, TheWordsOfTheProgramFollowThoseOfTheCommand) {
  EXPECT_THAT(command_through({"srun", "-w", "{name}", "--overlap"}),
              ElementsAre("srun", "-w", "n1", "--overlap", "/opt/it's/steelyard", "attend"));
  EXPECT_THAT(command_through({"env", "WHERE={name}@{address}"}),
              ElementsAre("env", "WHERE=n1@10.0.0.1", "/opt/it's/steelyard", "attend"));
}

TEST(HostReach, AShellGetsTheProgramAsOneText) {
  EXPECT_THAT(command_through({"sh", "-c", "cd /x && exec {command}"}),
              ElementsAre("sh", "-c", R"(cd /x && exec '/opt/it'\''s/steelyard' attend)"));
}

TEST(HostReach, OtherBracesAreText) {
  const std::vector<std::string> words{"sh", "-c", "${HOME} {} {Name} {a b} { {command"};
  EXPECT_EQ(placeholder_trouble(words), "");
  EXPECT_EQ(command_through(words)[2], words[2]);
}

TEST(HostReach, AnUnknownPlaceholderIsReportedWithTheNearest) {
  EXPECT_THAT(placeholder_trouble({"srun", "-w", "{nam}"}),
              AllOf(HasSubstr("unknown placeholder {nam}"), HasSubstr("did you mean \"name\"?")));
}

TEST(HostReach, SshAndNamespacesAreCommandsToo) {
  HostSpec host;
  EXPECT_THAT(reach_of(host).command(attend), ElementsAre("/opt/it's/steelyard", "attend")) << "this machine";
  host.ssh = "ann@lion";
  const HostReach ssh = reach_of(host);
  EXPECT_THAT(ssh.command(attend), IsSupersetOf({"ssh", "BatchMode=yes", "ann@lion"}));
  EXPECT_EQ(ssh.command(attend).back(), R"('/opt/it'\''s/steelyard' attend)")
      << "one text for the shell there";
  EXPECT_EQ(ssh.title, "ssh ann@lion");
  host.ssh.clear();
  host.netns = "left";
  EXPECT_THAT(reach_of(host).command({"x"}), ElementsAre("ip", "netns", "exec", "left", "x"));
}

// Tells the user how to try a command by hand.
TEST(HostReach, TheRemedyIsACommandToTry) {
  EXPECT_EQ(reach_of(host_through({"srun", "-w", "{name}"})).trial, "make `srun -w n1 true` work");
  EXPECT_EQ(reach_of(host_through({"sh", "-c", "exec {command}"})).trial, "make `sh -c 'exec true'` work");
}

TEST(HostReach, AMissingProgramHereIsReported) {
  EXPECT_EQ(reach_trouble(reach_of(host_through({"env"}))), "");
  EXPECT_THAT(reach_trouble(reach_of(host_through({"no-such-srun"}))),
              AllOf(HasSubstr("no program 'no-such-srun'"), HasSubstr("install it, or correct through =")));
  HostSpec host;
  host.netns = "steelyard-no-such-namespace";
  EXPECT_THAT(reach_trouble(reach_of(host)), HasSubstr("ip netns add"));
}

TEST(ShellWord, QuotesAnyTextAsOneWord) {
  EXPECT_EQ(shell_word("/opt/steelyard-1.0/bin"), "/opt/steelyard-1.0/bin");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("$HOME;`x`"), "'$HOME;`x`'");
  EXPECT_EQ(shell_word("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_word("~/x"), "'~/x'");
  EXPECT_EQ(shell_line({"a", "b c", ""}), "a 'b c' ''");
}

}  // namespace
}  // namespace steelyard::reach_test
