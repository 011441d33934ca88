// Processes on this machine. The program that is started is this test, which then lists its tests.
#include "app/launch/local_host.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <optional>

#include "core/processor.h"

#include "protocol/codec.h"
#include "tests/support/process_run.h"

namespace steelyard::local_host_test {
namespace {

using testing::HasSubstr;
using testing::Not;

const StartProcess lists{"lists", {"--gtest_list_tests"}, ""};

class LocalHostTest : public testing::Test {
 protected:
  // All messages until a process has exited.
  static std::vector<FromHost> until_ended(Host& host) {
    std::vector<FromHost> all;
    EXPECT_TRUE(eventually([&] {
      for (FromHost& it : host.hear(steady_now())) all.push_back(std::move(it));
      return !all.empty() && std::holds_alternative<ProcessEnded>(all.back());
    }));
    return all;
  }
};

TEST_F(LocalHostTest, ReportsItsReleaseTheOutputAndTheExit) {
  LocalHost host;
  host.tell(lists);
  const std::vector<FromHost> all = until_ended(host);
  ASSERT_GT(all.size(), 2U);
  const auto* ready = std::get_if<HostReady>(&all.front());
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->protocol, protocol_version);
  std::string output;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) output += std::get<Said>(all[i]).text + "\n";
  EXPECT_THAT(output, HasSubstr("LocalHostTest."));
  EXPECT_EQ(std::get<ProcessEnded>(all.back()).name, "lists");
  EXPECT_EQ(std::get<ProcessEnded>(all.back()).status, 0);
  EXPECT_TRUE(host.over());
}

// As in `train`: output does not pass through this process.
TEST_F(LocalHostTest, WithARunDirectoryOutputGoesToItsLogs) {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create((folder.path() / "run").string());
  LocalHost host(run, -1);
  host.tell(lists);
  for (const FromHost& it : until_ended(host)) EXPECT_FALSE(std::holds_alternative<Said>(it));
  EXPECT_THAT(text_of(run.log("lists")), HasSubstr("LocalHostTest."));
  host.tell(StartProcess{"scheduler", {"--gtest_list_tests", "--gtest_filter=None"}, ""});
  until_ended(host);
  EXPECT_FALSE(std::filesystem::exists(run.log("scheduler"))) << "it writes to our standard output";
}

StartProcess shell(const std::string& text, std::vector<std::string> environment = {}, unsigned sharing = 1) {
  return {"ada", {"-c", text}, "", "sh", std::move(environment), sharing};
}

// OMP_NUM_THREADS as the user set it, or not at all.
class UserThreads {
 public:
  explicit UserThreads(const char* threads) {
    if (const char* before = std::getenv("OMP_NUM_THREADS")) before_ = before;
    set(threads);
  }
  ~UserThreads() { set(before_ ? before_->c_str() : nullptr); }
  UserThreads(const UserThreads&) = delete;
  UserThreads& operator=(const UserThreads&) = delete;

  static void set(const char* threads) {
    if (threads == nullptr) unsetenv("OMP_NUM_THREADS");
    if (threads != nullptr) setenv("OMP_NUM_THREADS", threads, 1);
  }

 private:
  std::optional<std::string> before_;
};

TEST_F(LocalHostTest, AScriptGetsItsEnvironmentAndItsPartOfTheCores) {
  const auto output_of = [](const StartProcess& message) {
    LocalHost host;
    host.tell(message);
    const std::vector<FromHost> all = until_ended(host);
    const auto* said = all.size() == 3 ? std::get_if<Said>(&all[1]) : nullptr;
    return said == nullptr ? "nothing" : said->text;
  };
  const std::string threads = "echo $OMP_NUM_THREADS";
  const UserThreads none(nullptr);
  EXPECT_EQ(output_of(shell("echo $HOME-$STEELYARD_NAME", {"HOME=/x", "STEELYARD_NAME=ada"})), "/x-ada");
  EXPECT_EQ(output_of(shell(threads)), std::to_string(allowed_cores()));
  EXPECT_EQ(output_of(shell(threads, {}, 1000)), "1");
  EXPECT_EQ(output_of(shell(threads, {"OMP_NUM_THREADS=7"})), "7");
  const UserThreads five("5");
  EXPECT_EQ(output_of(shell(threads)), "5") << "the user's setting wins";
}

TEST_F(LocalHostTest, AProcessIsBoundToItsCores) {
  const auto cores_of_child = [](const CorePart& part) {
    LocalHost host;
    StartProcess message = shell("unset OMP_NUM_THREADS; nproc");  // nproc reads it
    message.cores = part;
    host.tell(message);
    std::string text;
    for (const FromHost& it : until_ended(host))
      if (const auto* said = std::get_if<Said>(&it)) text += said->text;
    return text;
  };
  const unsigned all = allowed_cores();
  const UserThreads none(nullptr);
  EXPECT_EQ(cores_of_child({all - 1, all, all}), "1");
  EXPECT_EQ(cores_of_child({}), std::to_string(all));
  EXPECT_EQ(cores_of_child({0, 1, all + 1}), std::to_string(all)) << "the workers do not fill this machine";
  const UserThreads two("2");
  EXPECT_EQ(cores_of_child({all - 1, all, all}), std::to_string(all)) << "the user divides the cores";
}

// Keys are neither on a disk nor visible: arguments and variables contain only the path of the file.
TEST_F(LocalHostTest, AProcessGetsItsKeysInAPrivateFile) {
  LocalHost host;
  StartProcess message = shell("stat -L -c %a $STEELYARD_KEYS; cat $STEELYARD_KEYS");
  message.keys = "words";
  host.tell(message);
  std::vector<std::string> lines;
  for (const FromHost& it : until_ended(host))
    if (const auto* text = std::get_if<Said>(&it)) lines.push_back(text->text);
  EXPECT_THAT(lines, testing::ElementsAre("600", "words"));
}

TEST_F(LocalHostTest, OutputOfAScriptIsForwardedAndAllIsLogged) {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create((folder.path() / "run").string());
  LocalHost host(run, -1);
  host.tell(shell("echo loss 3; echo Traceback >&2; exit 4"));
  std::vector<std::string> lines;
  for (const FromHost& it : until_ended(host)) {
    if (const auto* text = std::get_if<Said>(&it)) lines.push_back(text->text);
    if (const auto* ended = std::get_if<ProcessEnded>(&it)) {
      EXPECT_EQ(ended->status, 4 << 8);
    }
  }
  EXPECT_THAT(lines, testing::ElementsAre("loss 3"));
  EXPECT_THAT(text_of(run.log("ada")), testing::AllOf(HasSubstr("loss 3\n"), HasSubstr("Traceback\n")));
}

TEST_F(LocalHostTest, AMissingScriptIsReported) {
  LocalHost host;
  StartProcess missing = shell("");
  missing.program = "./nowhere.sh";
  host.tell(missing);
  const std::vector<FromHost> all = until_ended(host);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_THAT(std::get<Said>(all[1]).text, HasSubstr("has no executable program ./nowhere.sh"));
  EXPECT_EQ(std::get<ProcessEnded>(all[2]).status, 78 << 8);
}

// If only the shell were killed, its child would be left behind.
TEST_F(LocalHostTest, SignalsReachTheChildrenOfAScript) {
  LocalHost host;
  host.tell(shell("sleep 1000 & echo $!; wait"));
  std::string child;
  ASSERT_TRUE(eventually([&] {
    for (const FromHost& it : host.hear(steady_now()))
      if (const auto* said = std::get_if<Said>(&it)) child = said->text;
    return !child.empty();
  }));
  host.tell(SignalProcess{"ada", SIGKILL});
  until_ended(host);
  EXPECT_TRUE(eventually([&] {
    const std::string status = text_of("/proc/" + child + "/status");
    return status.empty() || status.find("State:\tZ") != std::string::npos;
  })) << "the child is alive";
}

// Started by the next test.
TEST(LocalHostChild, DISABLED_Stays) { pause(); }

TEST_F(LocalHostTest, SignalsReachOnlyTheNamedProcess) {
  LocalHost host;
  host.tell(StartProcess{
      "stays", {"--gtest_also_run_disabled_tests", "--gtest_filter=LocalHostChild.DISABLED_Stays"}, ""});
  host.tell(SignalProcess{"other", SIGKILL});
  host.tell(SignalProcess{"stays", SIGKILL});
  EXPECT_EQ(std::get<ProcessEnded>(until_ended(host).back()).status, SIGKILL);
}

}  // namespace
}  // namespace steelyard::local_host_test
