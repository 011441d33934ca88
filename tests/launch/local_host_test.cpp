// Processes of this machine. "This very program" is the test here, asked for the list of its tests.
#include "launch/local_host.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>

#include "tests/support/process_run.h"
#include "wire/codec.h"

namespace steelyard {
namespace {

using testing::HasSubstr;
using testing::Not;

const StartProcess lists{"lists", {"--gtest_list_tests"}, ""};

class LocalHostTest : public testing::Test {
 protected:
  // All that comes until a process has ended.
  static std::vector<FromHost> until_ended(Host& host) {
    std::vector<FromHost> all;
    EXPECT_TRUE(eventually([&] {
      for (FromHost& it : host.hear(steady_now())) all.push_back(std::move(it));
      return !all.empty() && std::holds_alternative<ProcessEnded>(all.back());
    }));
    return all;
  }
};

TEST_F(LocalHostTest, TellsWhoItIsWhatIsSaidAndThenTheEnd) {
  LocalHost host;
  host.tell(lists);
  const std::vector<FromHost> all = until_ended(host);
  ASSERT_GT(all.size(), 2U);
  const auto* ready = std::get_if<HostReady>(&all.front());
  ASSERT_NE(ready, nullptr);
  EXPECT_EQ(ready->protocol, protocol_version);
  std::string said;
  for (std::size_t i = 1; i + 1 < all.size(); ++i) said += std::get<Said>(all[i]).text + "\n";
  EXPECT_THAT(said, HasSubstr("LocalHostTest."));
  EXPECT_EQ(std::get<ProcessEnded>(all.back()).name, "lists");
  EXPECT_EQ(std::get<ProcessEnded>(all.back()).status, 0);
  EXPECT_TRUE(host.over());
}

// As `train` has it: nothing of what is said passes through this process.
TEST_F(LocalHostTest, WithARunDirectoryWhatIsSaidGoesToItsLogs) {
  const TemporaryFolder folder;
  const RunDirectory run = RunDirectory::create((folder.path() / "run").string());
  LocalHost host(run, -1);
  host.tell(lists);
  for (const FromHost& it : until_ended(host)) EXPECT_FALSE(std::holds_alternative<Said>(it));
  EXPECT_THAT(text_of(run.log("lists")), HasSubstr("LocalHostTest."));
  host.tell(StartProcess{"scheduler", {"--gtest_list_tests", "--gtest_filter=None"}, ""});
  until_ended(host);
  EXPECT_FALSE(std::filesystem::exists(run.log("scheduler"))) << "it says its words where we do";
}

// What the next test starts.
TEST(LocalHostChild, DISABLED_Stays) { pause(); }

TEST_F(LocalHostTest, SignalsReachTheProcessOfThatName) {
  LocalHost host;
  host.tell(StartProcess{
      "stays", {"--gtest_also_run_disabled_tests", "--gtest_filter=LocalHostChild.DISABLED_Stays"}, ""});
  host.tell(SignalProcess{"other", SIGKILL});
  host.tell(SignalProcess{"stays", SIGKILL});
  EXPECT_EQ(std::get<ProcessEnded>(until_ended(host).back()).status, SIGKILL);
}

}  // namespace
}  // namespace steelyard
