// Hosts as text, and hosts reduced to some of their workers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/hosts_file.h"

namespace steelyard::hosts_text_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr char three[] = R"(
[[host]]
name = "lion"
ssh = "ann@lion"
address = "10.0.0.1"
directory = "it's \"mine\""
scheduler = true
port = 7171
servers = 2
shards = 3
[[host.worker]]
name = "lion-a"
simulate_slowdown = "2, 4@10"
max_batch = 64
data = { dir = "/data set", train = 100 }
[[host]]
name = "mouse"
netns = "mouse"
address = "10.0.0.2"
[[host.worker]]
name = "mouse-a"
[[host.worker]]
name = "mouse-b"
)";

TEST(HostsText, TextReadsBackTheSame) {
  const HostsFile once = parse_hosts(three, "hosts");
  const std::string text = hosts_text(once);
  const HostsFile again = parse_hosts(text, "again");
  EXPECT_EQ(hosts_text(again), text);
  ASSERT_EQ(again.hosts.size(), 2U);
  const HostSpec& lion = again.hosts[0];
  EXPECT_EQ(lion.ssh, "ann@lion");
  EXPECT_EQ(lion.directory, "it's \"mine\"");
  EXPECT_EQ(lion.steelyard, once.hosts[0].steelyard);
  EXPECT_EQ(lion.port, 7171U);
  EXPECT_EQ(again.shards(), 6U);
  ASSERT_EQ(lion.workers.size(), 1U);
  EXPECT_EQ(lion.workers[0].spec.simulate_slowdown, "2, 4@10");
  EXPECT_EQ(lion.workers[0].spec.max_batch, 64U);
  EXPECT_THAT(lion.workers[0].data_options, ElementsAre("dir=/data set", "train=100"));
  EXPECT_EQ(again.hosts[1].netns, "mouse");
  EXPECT_EQ(again.hosts[1].workers.size(), 2U);
  EXPECT_THAT(text, Not(HasSubstr("precision"))) << "defaults are left out";
}

TEST(HostsText, HostsWithoutRolesAreLeftOut) {
  const HostsFile hosts = parse_hosts(three, "hosts");
  const HostsFile both = with_workers(hosts, {"mouse-b"});
  ASSERT_EQ(both.hosts.size(), 2U) << "the first has scheduler and servers";
  EXPECT_TRUE(both.hosts[0].workers.empty());
  ASSERT_EQ(both.hosts[1].workers.size(), 1U);
  EXPECT_EQ(both.hosts[1].workers[0].spec.name, "mouse-b");
  EXPECT_EQ(with_workers(hosts, {"lion-a"}).hosts.size(), 1U);
}

TEST(HostsText, WithoutTheGpusThatKeepTheModelThereIsAServer) {
  const HostsFile hosts = parse_hosts(
      "[[host]]\nscheduler = true\n[[host.worker]]\nname = \"ada\"\n[[host.worker]]\nname = "
      "\"eve\"\ndevice = \"cuda:0\"\n",
      "hosts");
  EXPECT_EQ(with_workers(hosts, {"eve"}).shards(), 0U);
  EXPECT_EQ(with_workers(hosts, {"ada"}).shards(), 1U);
}

}  // namespace
}  // namespace steelyard::hosts_text_test
