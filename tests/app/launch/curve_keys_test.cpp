#include "app/launch/launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "transport/security/key_files.h"

namespace steelyard::job_keys_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(JobKeys, EachProcessGetsItsKeyAndAllowList) {
  LaunchPlan plan;
  for (const auto& [name, role] : {std::pair{"scheduler", Role::scheduler},
                                   {"server-0", Role::shard},
                                   {"server-1", Role::shard},
                                   {"ada", Role::worker},
                                   {"bob", Role::worker}})
    plan.processes.push_back({name, "here", role, {}, ""});
  give_keys(plan);
  std::set<std::string> keys;
  for (const LaunchProcess& process : plan.processes) {
    const KeyLines lines = parse_keys(process.keys, process.name);
    ASSERT_TRUE(lines.own) << process.name;
    EXPECT_TRUE(belongs_to(*lines.own));
    EXPECT_EQ(lines.own->name, process.name);
    EXPECT_EQ(lines.own->role, process.role == Role::scheduler ? KeyRole::scheduler
                               : process.role == Role::shard   ? KeyRole::server
                                                               : KeyRole::worker);
    EXPECT_EQ(lines.allowed.size(), process.role == Role::worker ? 1U : 5U) << process.name;
    keys.insert(lines.own->public_key);
    EXPECT_THAT(describe_plan(plan), Not(HasSubstr(lines.own->secret.letters())));
  }
  EXPECT_EQ(keys.size(), 5U);
}

}  // namespace
}  // namespace steelyard::job_keys_test
