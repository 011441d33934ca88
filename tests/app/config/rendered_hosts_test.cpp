#include "app/config/rendered_hosts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/config/hosts_file.h"
#include "tests/support/complaint.h"

namespace steelyard::rendered_hosts_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string with(const std::string& lines, const std::string& worker = "") {
  return "[[host]]\nname = \"lion\"\n" + lines + "\nscheduler = true\nservers = 1\n[[host.worker]]\n" +
         worker;
}
std::string refusal(const std::string& text, HostsUse use) {
  return complaint_of([&] { parse_hosts(text, "hosts.toml", use); });
}

// `launch` is given its machines, each with an address.
TEST(RenderedHosts, OnlyRenderFindsMachines) {
  EXPECT_THAT(refusal(with("count = 2"), HostsUse::launch),
              AllOf(HasSubstr("hosts.toml:3:"), HasSubstr("one [[host]] for each")));
  EXPECT_EQ(refusal(with("count = 2"), HostsUse::slurm), "");
  const std::string second = with("") + "[[host]]\nname = \"mouse\"\nssh = \"mouse\"\n";
  EXPECT_THAT(refusal(second, HostsUse::launch), HasSubstr("give its address"));
  EXPECT_NO_THROW(parse_hosts(second, "hosts.toml", HostsUse::kubernetes));
}

TEST(RenderedHosts, APodHasOneWorkerAndOneScheduler) {
  EXPECT_EQ(refusal(with(""), HostsUse::kubernetes), "");
  EXPECT_THAT(refusal(with("count = 2"), HostsUse::kubernetes),
              AllOf(HasSubstr("hosts.toml:3:"), HasSubstr("has the scheduler")));
  EXPECT_THAT(refusal(with("", "[[host.worker]]\n"), HostsUse::kubernetes), HasSubstr("give count instead"));
}

TEST(RenderedHosts, WorkersOfSlurmHaveNoKeysOfTheirOwn) {
  EXPECT_EQ(refusal(with("", "threads = 2\n"), HostsUse::slurm), "");
  EXPECT_THAT(refusal(with("", "max_batch = 8\n"), HostsUse::slurm),
              AllOf(HasSubstr("hosts.toml:7:"), HasSubstr("without max_batch")));
}

}  // namespace
}  // namespace steelyard::rendered_hosts_test
