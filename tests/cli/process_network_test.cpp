// Roles on different hosts: network namespaces stand for them, with a switch between. Needs root; elsewhere
// it says so and skips itself.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <memory>

#include "tests/cli/process_run.h"

namespace steelyard {
namespace {

using testing::HasSubstr;

bool ip(const std::string& arguments) {
  return std::system(("ip " + arguments + " >/dev/null 2>&1").c_str()) == 0;
}

// Three hosts; the first has a line to each of the others, and passes on what they say to each other. Nothing
// of it touches the machine's own network.
class Hosts {
 public:
  Hosts() {
    for (int i = 1; i <= 3; ++i) {
      if (!ip("netns add " + name(i))) return;
      made_ = i;
      if (!ip("-n " + name(i) + " link set lo up")) return;
    }
    ready_ = connect(2) && connect(3) &&
             ip("netns exec " + name(1) + " sh -c 'echo 1 > /proc/sys/net/ipv4/ip_forward'");
  }
  ~Hosts() {
    for (int i = 1; i <= made_; ++i) ip("netns delete " + name(i));
  }
  Hosts(const Hosts&) = delete;
  Hosts& operator=(const Hosts&) = delete;

  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] static std::string name(int host) {
    return "steelyard-" + std::to_string(getpid()) + "-" + std::to_string(host);
  }
  // For a child that is to run there.
  [[nodiscard]] static std::function<void()> enter(int host) {
    return [place = "/var/run/netns/" + name(host)] {
      if (setns(open(place.c_str(), O_RDONLY | O_CLOEXEC), CLONE_NEWNET) != 0) _exit(126);
    };
  }

 private:
  // 10.77.<host>.1 - 10.77.<host>.2
  static bool connect(int host) {
    const std::string line = "line" + std::to_string(host), net = "10.77." + std::to_string(host) + ".";
    const std::string hub = "-n " + name(1), leaf = "-n " + name(host);
    return ip(hub + " link add " + line + " type veth peer name line netns " + name(host)) &&
           ip(hub + " address add " + net + "1/24 dev " + line) && ip(hub + " link set " + line + " up") &&
           ip(leaf + " address add " + net + "2/24 dev line") && ip(leaf + " link set line up") &&
           ip(leaf + " route add default via " + net + "1");
  }

  int made_ = 0;
  bool ready_ = false;
};

class ProcessNetwork : public ProcessTest {
 protected:
  std::unique_ptr<Process> on(int host, const std::string& name, const std::vector<std::string>& arguments) {
    return std::make_unique<Process>(path(name + ".log"), arguments, Hosts::enter(host));
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
  const Hosts hosts;
  if (!hosts.ready())
    GTEST_SKIP() << "no right to make network namespaces, or no iproute2; run the tests as root";
  const auto ada = worker(2, "ada");  // comes before anybody it could talk to
  const auto s0 = server(2, "s0");
  const auto decides =
      on(1, "scheduler",
         {"scheduler", job_, "--listen", "0.0.0.0:7070", "--insecure", "--run-dir", path("run")});
  const auto s1 = server(3, "s1");
  const auto bob = worker(3, "bob");
  for (const auto* run : {&decides, &s0, &s1, &ada, &bob}) ends_clean(**run, 0);
  // Found out by the servers themselves, without --advertise.
  EXPECT_THAT(decides->output(), HasSubstr("server 's0' joined at tcp://10.77.2.2:"));
  EXPECT_THAT(decides->output(), HasSubstr("server 's1' joined at tcp://10.77.3.2:"));
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessNetwork, CtrlCReachesAllHosts) {
  const Hosts hosts;
  if (!hosts.ready())
    GTEST_SKIP() << "no right to make network namespaces, or no iproute2; run the tests as root";
  const auto decides = on(1, "scheduler",
                          {"scheduler", job_, "--listen", "0.0.0.0:7070", "--insecure", "--run-dir",
                           path("run"), "--set", "train.epochs=1000000"});
  const auto s0 = server(2, "s0");
  const auto s1 = server(3, "s1");
  const auto ada = worker(2, "ada");
  const auto bob = worker(3, "bob");
  ASSERT_TRUE(eventually([&] { return decides->says("checkpoint of round"); }));
  decides->signal(SIGINT);
  for (const auto* run : {&decides, &s0, &s1, &ada, &bob}) ends_clean(**run, 75);
}

}  // namespace
}  // namespace steelyard
