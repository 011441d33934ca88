// Roles on different hosts, simulated by network namespaces that a switch connects. Skipped without root.
#include <gmock/gmock.h>

#include <csignal>
#include <memory>

#include "tests/support/namespaces.h"
#include "tests/support/process_run.h"

namespace steelyard::process_network_test {
namespace {

using testing::HasSubstr;

class ProcessNetwork : public ProcessTest {
 protected:
  std::unique_ptr<Process> on(int host, const std::string& name, const std::vector<std::string>& arguments) {
    return std::make_unique<Process>(path(name + ".log"), arguments, Namespaces::enter(host));
  }
  static std::string scheduler_of(int host) { return "10.77." + std::to_string(host) + ".1:7070"; }
  std::unique_ptr<Process> server(int host, const std::string& name) {
    return on(
        host, name,
        {"server", "--scheduler", scheduler_of(host), "--name", name, "--listen", "0.0.0.0:*", "--insecure"});
  }
  std::unique_ptr<Process> worker(int host, const std::string& name) {
    return on(host, name, {"worker", "--scheduler", scheduler_of(host), "--name", name});
  }
};

TEST_F(ProcessNetwork, ThreeHostsTrainOneModel) {
  const Namespaces hosts;
  if (!hosts.ready()) GTEST_SKIP() << no_namespaces;
  const auto ada = worker(2, "ada");  // starts before the scheduler and the servers
  const auto s0 = server(2, "s0");
  const auto leader =
      on(1, "scheduler",
         {"scheduler", job_, "--listen", "0.0.0.0:7070", "--insecure", "--run-dir", path("run")});
  const auto s1 = server(3, "s1");
  const auto bob = worker(3, "bob");
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**run, 0);
  // The servers find their addresses themselves, without --advertise.
  EXPECT_THAT(leader->output(), HasSubstr("server 's0' joined at tcp://10.77.2.2:"));
  EXPECT_THAT(leader->output(), HasSubstr("server 's1' joined at tcp://10.77.3.2:"));
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessNetwork, CtrlCReachesAllHosts) {
  const Namespaces hosts;
  if (!hosts.ready()) GTEST_SKIP() << no_namespaces;
  const auto leader = on(1, "scheduler",
                         {"scheduler", job_, "--listen", "0.0.0.0:7070", "--insecure", "--run-dir",
                          path("run"), "--set", "train.epochs=1000000"});
  const auto s0 = server(2, "s0");
  const auto s1 = server(3, "s1");
  const auto ada = worker(2, "ada");
  const auto bob = worker(3, "bob");
  ASSERT_TRUE(eventually([&] { return leader->says("checkpoint of round"); }));
  leader->signal(SIGINT);
  for (const auto* run : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**run, 75);
}

}  // namespace
}  // namespace steelyard::process_network_test
