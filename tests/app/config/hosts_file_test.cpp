#include "app/config/hosts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/device_name.h"
#include "core/error.h"

namespace steelyard::hosts_file_test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// The error for a file that is refused.
std::string refusal(const std::string& text) {
  try {
    parse_hosts(text, "hosts.toml");
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.code(), ExitCode::configuration);
    return failure.what();
  }
  ADD_FAILURE() << "it was accepted";
  return {};
}

constexpr const char* smallest = R"(
[[host]]
scheduler = true
servers = 1
[[host.worker]]
)";

// The smallest file with a line of its host replaced or added.
std::string with(const std::string& line) {
  return "[[host]]\nname = \"lion\"\n" + line + "\nscheduler = true\nservers = 1\n[[host.worker]]\n";
}

TEST(HostsFile, TheSmallestFileHasDefaults) {
  const HostsFile file = parse_hosts(smallest, "hosts.toml");
  ASSERT_EQ(file.hosts.size(), 1U);
  const HostSpec& host = file.scheduler();
  EXPECT_EQ(host.name, "host-0");
  EXPECT_EQ(host.address, "127.0.0.1");
  EXPECT_EQ(host.listen, "127.0.0.1");
  EXPECT_EQ(host.steelyard, "");
  EXPECT_EQ(host.port, 7070U);
  EXPECT_EQ(file.shards(), 1U);
  ASSERT_EQ(host.workers.size(), 1U);
  EXPECT_EQ(host.workers[0].spec.name, "worker-0");
}

TEST(HostsFile, EveryKeyIsRead) {
  const HostsFile file = parse_hosts(R"(
[[host]]
name = "lion"
ssh = "ann@lion.example"
address = "10.0.0.1"
listen = "0.0.0.0"
steelyard = "/opt/it's here/steelyard"
directory = "a job"
scheduler = true
port = 8080
servers = 2
shards = 3
[[host]]
name = "left"
netns = "left"
address = "10.0.0.2"
servers = 1
[[host.worker]]
name = "ada"
device = "auto"
simulate_slowdown = 2.5
simulate_cpu_share = "1, 0.5@60"
max_batch = 4096
data = { dir = "/data/fashion", classes = 10 }
[[host.worker]]
)",
                                     "hosts.toml");
  ASSERT_EQ(file.hosts.size(), 2U);
  const HostSpec& lion = file.hosts[0];
  EXPECT_EQ(&file.scheduler(), &lion);
  EXPECT_EQ(lion.ssh, "ann@lion.example");
  EXPECT_EQ(lion.listen, "0.0.0.0");
  EXPECT_EQ(lion.steelyard, "/opt/it's here/steelyard");
  EXPECT_EQ(lion.directory, "a job");
  EXPECT_EQ(lion.port, 8080U);
  EXPECT_EQ(file.shards(), 7U);
  const HostSpec& left = file.hosts[1];
  EXPECT_EQ(left.netns, "left");
  ASSERT_EQ(left.workers.size(), 2U);
  EXPECT_EQ(left.workers[0].spec.name, "ada");
  EXPECT_EQ(left.workers[0].spec.device, "auto");
  EXPECT_EQ(left.workers[0].spec.simulate_slowdown, "2.5");
  EXPECT_EQ(left.workers[0].spec.simulate_cpu_share, "1, 0.5@60");
  EXPECT_EQ(left.workers[0].spec.max_batch, 4096U);
  EXPECT_THAT(left.workers[0].data_options, ElementsAre("classes=10", "dir=/data/fashion"));
  EXPECT_EQ(left.workers[1].spec.name, "worker-1");
}

TEST(HostsFile, AddressesDefaultToTheSshHost) {
  const HostsFile file = parse_hosts(with("ssh = \"ann@lion.example\""), "hosts.toml");
  EXPECT_EQ(file.scheduler().address, "lion.example");
  EXPECT_EQ(file.scheduler().listen, "0.0.0.0") << "sockets cannot be bound to a name";
  EXPECT_EQ(file.scheduler().steelyard, "steelyard") << "found in the PATH of that host";
}

TEST(HostsFile, UnknownKeysAreReportedWithTheNearest) {
  EXPECT_THAT(refusal(with("adress = \"10.0.0.1\"")),
              AllOf(HasSubstr("hosts.toml:3:1"), HasSubstr("unknown key \"adress\" in [[host]]"),
                    HasSubstr("did you mean \"address\"?")));
  EXPECT_THAT(refusal(std::string(smallest) + "treads = 2\n"),
              AllOf(HasSubstr("hosts.toml:6:1"), HasSubstr("in [[host.worker]]"),
                    HasSubstr("did you mean \"threads\"?")));
  EXPECT_THAT(refusal(std::string("[[hosts]]\n") + smallest),
              AllOf(HasSubstr("hosts.toml:1"), HasSubstr("unknown section [[hosts]]"),
                    HasSubstr("did you mean \"host\"?")));
  EXPECT_THAT(refusal("host = 3\n"), HasSubstr("write [[host]] once for each"));
  EXPECT_THAT(refusal("[[host]]\nworker = 1\n"), HasSubstr("write [[host.worker]] once for each"));
}

TEST(HostsFile, ValuesOutOfRangeAreReported) {
  EXPECT_THAT(refusal(with("port = 70000")),
              AllOf(HasSubstr("hosts.toml:3"), HasSubstr("port = 70000"), HasSubstr("from 1 to 65535")));
  EXPECT_THAT(refusal(with("shards = 0")), HasSubstr("shards = 0"));
  EXPECT_THAT(refusal(with("name = 3")), HasSubstr("hosts.toml:3"));  // given twice: invalid TOML
  EXPECT_THAT(refusal(std::string(smallest) + "simulate_slowdown = 0.5\n"),
              HasSubstr("give a number from 1 to 1000"));
  EXPECT_THAT(refusal(std::string(smallest) + "simulate_cpu_share = true\n"),
              HasSubstr("give a share from 0.01 to 1"));
  EXPECT_THAT(refusal(std::string(smallest) + "device = \"tpu\"\n"),
              HasSubstr("device = \"tpu\" in [[host.worker]]: give " + device_list_expected()));
  EXPECT_THAT(refusal(std::string(smallest) + "data = \"dir=/x\"\n"), HasSubstr("{ dir ="));
  EXPECT_THAT(refusal(std::string(smallest) + "data = { dir = [[1]] }\n"),
              HasSubstr("dir = a list in data of [[host.worker]]"));
}

// Values that ssh or ip would read as options, or as several words, are refused.
TEST(HostsFile, OptionsCannotBeInjectedIntoCommands) {
  for (const char* ssh : {"-oProxyCommand=touch /tmp/x", "-v", "lion rm", "lion;rm"}) {
    EXPECT_THAT(refusal(with("ssh = \"" + std::string(ssh) + "\"")), HasSubstr("an argument of ssh")) << ssh;
  }
  for (const char* netns : {"-all", "../lion", "a b"}) {
    EXPECT_THAT(refusal(with("address = \"10.0.0.1\"\nnetns = \"" + std::string(netns) + "\"")),
                HasSubstr("network namespace"))
        << netns;
  }
  EXPECT_THAT(refusal(with("address = \"10.0.0.1:7070\"")), HasSubstr("without a port"));
}

TEST(HostsFile, TheClusterMustBeComplete) {
  EXPECT_THAT(refusal(""), HasSubstr("no host"));
  EXPECT_THAT(refusal("[[host]]\nservers = 1\n[[host.worker]]\n"), HasSubstr("no host has the scheduler"));
  EXPECT_THAT(refusal("[[host]]\nscheduler = true\n[[host.worker]]\n"), HasSubstr("no host has a server"));
  EXPECT_THAT(refusal("[[host]]\nscheduler = true\nservers = 1\n"), HasSubstr("no host has a worker"));
  EXPECT_THAT(refusal("[[host]]\nscheduler = true\n[[host.worker]]\ndevice = \"auto\"\n"),
              AllOf(HasSubstr("no host has a server"), HasSubstr("device = \"cuda:0\"")));
  EXPECT_NO_THROW(
      (void)parse_hosts("[[host]]\nscheduler = true\n[[host.worker]]\ndevice = \"cuda:0\"\n", "h"))
      << "it can be the server of a job with servers = \"workers\"";
  EXPECT_THAT(refusal(std::string(smallest) + "[[host]]\nscheduler = true\n"),
              AllOf(HasSubstr("hosts.toml:7"), HasSubstr("a second scheduler")));
  EXPECT_THAT(refusal(std::string(smallest) + "[[host]]\nport = 8080\n"),
              HasSubstr("port is the scheduler's"));
}

TEST(HostsFile, NamesMustBeUnique) {
  EXPECT_THAT(refusal(with("") + "[[host]]\nname = \"lion\"\n"),
              AllOf(HasSubstr("hosts.toml:8"), HasSubstr("two hosts are named \"lion\"")));
  EXPECT_THAT(refusal(std::string(smallest) + "[[host]]\n[[host.worker]]\nname = \"worker-0\"\n"),
              HasSubstr("two workers are named \"worker-0\""));
}

TEST(HostsFile, HostsNeedReachableAddresses) {
  const std::string elsewhere = "[[host]]\nssh = \"mouse\"\n[[host.worker]]\n";
  EXPECT_THAT(refusal(smallest + elsewhere),
              AllOf(HasSubstr("cannot reach host \"host-0\""), HasSubstr("give its address")));
  EXPECT_EQ(parse_hosts(with("address = \"10.0.0.1\"") + elsewhere, "hosts.toml").hosts.size(), 2U);
  EXPECT_THAT(refusal(with("netns = \"left\"")), HasSubstr("give its address"));
  EXPECT_THAT(refusal(with("netns = \"left\"\nssh = \"lion\"\naddress = \"10.0.0.1\"")),
              HasSubstr("give one of the two"));
}

TEST(HostsFile, AnyCommandMayReachAHost) {
  const std::string two = R"(
[defaults]
through = ["srun", "-w", "{name}"]
steelyard = "/opt/steelyard"
[[host]]
name = "n1"
scheduler = true
servers = 1
[[host.worker]]
[[host]]
name = "n2"
through = ["docker", "exec", "-i", "box"]
address = "10.0.0.2"
steelyard = "steelyard"
[[host]]
ssh = "lion"
)";
  const HostsFile file = parse_hosts(two, "hosts.toml");
  ASSERT_EQ(file.hosts.size(), 3U);
  const HostSpec &n1 = file.hosts[0], &n2 = file.hosts[1], &lion = file.hosts[2];
  EXPECT_THAT(n1.through, ElementsAre("srun", "-w", "{name}"));
  EXPECT_EQ(n1.address, "n1") << "its name";
  EXPECT_EQ(n1.steelyard, "/opt/steelyard");
  EXPECT_EQ(n1.place, "hosts.toml:3:11");
  EXPECT_FALSE(n1.has_our_files());
  EXPECT_THAT(n2.through, ElementsAre("docker", "exec", "-i", "box"));
  EXPECT_EQ(n2.steelyard, "steelyard");
  EXPECT_EQ(n2.place, "hosts.toml:12:11");
  EXPECT_TRUE(lion.through.empty()) << "ssh replaces the default";
  EXPECT_EQ(hosts_text(parse_hosts(hosts_text(file), "again")), hosts_text(file));
}

TEST(HostsFile, ACommandMustBeComplete) {
  EXPECT_THAT(refusal(with("through = []")),
              AllOf(HasSubstr("hosts.toml:3:11"), HasSubstr("give a list of 1 to 64 texts")));
  EXPECT_THAT(refusal(with("through = [\"srun\", 3]")), HasSubstr("give a list of 1 to 64 texts"));
  EXPECT_THAT(refusal(with("through = \"srun -w n1\"")), HasSubstr("give a list of 1 to 64 texts"));
  EXPECT_THAT(refusal(with("through = [\"srun\", \"{nam}\"]")),
              AllOf(HasSubstr("hosts.toml:3:11"), HasSubstr("unknown placeholder {nam}"), HasSubstr("name")));
  EXPECT_THAT(refusal("[defaults]\nthrough = [\"{nam}\"]\n" + with("")),
              AllOf(HasSubstr("hosts.toml:2:11"), HasSubstr("unknown placeholder {nam}")));
  EXPECT_THAT(refusal(with("ssh = \"lion\"\nthrough = [\"srun\"]")),
              AllOf(HasSubstr("hosts.toml:4:11"), HasSubstr("has both ssh and through")));
  EXPECT_THAT(refusal("[[host]]\nthrough = [\"srun\"]\nscheduler = true\nservers = 1\n[[host.worker]]\n"),
              HasSubstr("give its address for the other hosts, or its name"));
}

TEST(HostsFile, AMissingFileIsReported) {
  try {
    read_hosts_file("/nowhere/hosts.toml");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), AllOf(HasSubstr("/nowhere/hosts.toml"), HasSubstr("examples/hosts.toml")));
  }
}

TEST(HostsFile, TheExampleIsValid) {
  const auto example = std::filesystem::path(__FILE__).parent_path() / "../../../examples/hosts.toml";
  const HostsFile file = read_hosts_file(example.string());
  EXPECT_EQ(file.hosts.size(), 3U);
  EXPECT_EQ(file.shards(), 2U);
}

}  // namespace
}  // namespace steelyard::hosts_file_test
