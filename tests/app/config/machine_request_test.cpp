#include "app/config/machine_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/hosts_file.h"
#include "tests/support/complaint.h"

namespace steelyard::machine_request_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string with(const std::string& lines) {
  return "[[host]]\nname = \"lion\"\n" + lines + "\nscheduler = true\nservers = 1\n[[host.worker]]\n";
}
std::string refusal(const std::string& lines) {
  return complaint_of([&] { parse_hosts(with(lines), "hosts.toml", HostsUse::slurm); });
}

TEST(MachineRequest, EveryKeyIsReadAndWritten) {
  const HostsFile once = parse_hosts(with(R"(count = 3
cpus = 4
memory = "8Gi"
gpus = 2
partition = "fast"
image = "registry.lab:5000/train@sha256:0a1b"
node_selector = "pool=fast, gpu.lab/model=A100"
volumes = "pictures:/data, more-pictures:/data/more")"),
                                     "hosts.toml", HostsUse::slurm);
  const HostsFile again = parse_hosts(hosts_text(once), "again", HostsUse::slurm);
  EXPECT_EQ(hosts_text(again), hosts_text(once));
  const MachineRequest& machines = again.hosts[0].machines;
  EXPECT_EQ(machines.count, 3U);
  EXPECT_EQ(machines.cpus, 4U);
  EXPECT_EQ(machines.memory, "8Gi");
  EXPECT_EQ(machines.gpus, 2U);
  EXPECT_EQ(machines.partition, "fast");
  EXPECT_EQ(machines.image, "registry.lab:5000/train@sha256:0a1b");
  EXPECT_THAT(pairs_in(machines.node_selector, '='),
              ElementsAre(Pair("pool", "fast"), Pair("gpu.lab/model", "A100")));
  EXPECT_THAT(pairs_in(machines.volumes, ':'),
              ElementsAre(Pair("pictures", "/data"), Pair("more-pictures", "/data/more")));
}

TEST(MachineRequest, WrongValuesAreReportedWithTheirPlace) {
  for (const char* line : {R"(memory = "8")",
                           R"(memory = "8GB")",
                           R"(memory = "0Gi")",
                           R"(memory = "1.5Gi")",
                           R"(memory = "Gi")",
                           R"(node_selector = "pool")",
                           R"(node_selector = "pool=")",
                           R"(node_selector = "-a=b")",
                           R"(node_selector = "a=b c")",
                           R"(node_selector = "a=b,,c=d")",
                           R"(node_selector = "Lab/a=b")",
                           R"(volumes = "pictures")",
                           R"(volumes = "pictures:data")",
                           R"(volumes = "Pictures:/data")",
                           R"(volumes = "a:/data/../etc")",
                           R"(volumes = "a:/")",
                           R"(image = "-x")",
                           R"(image = "a b")",
                           R"(partition = "a b")",
                           "count = 0",
                           "cpus = -1",
                           "gpus = 1.5"}) {
    EXPECT_THAT(refusal(line), HasSubstr("hosts.toml:3:")) << line;
  }
}

TEST(MachineRequest, NamesOfPodsAreLabelsOfDns) {
  for (const char* name : {"a", "lion-2", "x0123456789012345678"})
    EXPECT_TRUE(is_dns_label(name, 20)) << name;
  for (const char* name : {"", "2lion", "lion-", "Lion", "li_on", "li.on", "x01234567890123456789"})
    EXPECT_FALSE(is_dns_label(name, 20)) << name;
}

}  // namespace
}  // namespace steelyard::machine_request_test
