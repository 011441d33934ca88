#include "app/launch/launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "tests/support/complaint.h"
#include "tests/support/temporary_folder.h"
#include "transport/security/key_files.h"

namespace steelyard::job_keys_test {
namespace {

using ::testing::AllOf;
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
    ASSERT_EQ(lines.own.size(), 1U) << process.name;
    EXPECT_TRUE(belongs_to(lines.own[0]));
    EXPECT_EQ(lines.own[0].name, process.name);
    EXPECT_EQ(lines.own[0].role, process.role == Role::scheduler ? KeyRole::scheduler
                                 : process.role == Role::shard   ? KeyRole::server
                                                                 : KeyRole::worker);
    EXPECT_EQ(lines.allowed.size(), process.role == Role::worker ? 1U : 5U) << process.name;
    keys.insert(lines.own[0].public_key);
    EXPECT_THAT(describe_plan(plan), Not(HasSubstr(lines.own[0].secret.letters())));
  }
  EXPECT_EQ(keys.size(), 5U);
}

// A worker that hosts shards has a key of a server, too, and a list with the other workers.
TEST(JobKeys, AWorkerThatHostsShardsHasTwoKeys) {
  LaunchPlan plan;
  plan.processes = {{"scheduler", "here", Role::scheduler, {}, ""},
                    {"ada", "here", Role::worker, {}, ""},
                    {"bob", "here", Role::worker, {}, ""}};
  plan.processes[1].hosts_shards = true;
  give_keys(plan);
  const KeyLines ada = parse_keys(plan.processes[1].keys, ""), bob = parse_keys(plan.processes[2].keys, "");
  ASSERT_EQ(ada.own.size(), 2U);
  EXPECT_EQ(ada.own[0].role, KeyRole::worker);
  EXPECT_EQ(ada.own[1].role, KeyRole::server);
  EXPECT_NE(ada.own[0].public_key, ada.own[1].public_key);
  ASSERT_EQ(ada.allowed.size(), 4U);
  EXPECT_EQ(ada.allowed.at(ada.own[0].public_key).role, KeyRole::worker);
  EXPECT_EQ(ada.allowed.at(ada.own[1].public_key).role, KeyRole::server);
  EXPECT_EQ(bob.own.size(), 1U);
  EXPECT_EQ(bob.allowed.size(), 1U);

  const TemporaryFolder folder;
  for (const KeyRole role : {KeyRole::scheduler, KeyRole::server, KeyRole::worker})
    write_key(folder.path("secret"), make_key(role, name(role)));
  give_keys(plan, folder.path("secret"));
  const KeyLines shared = parse_keys(plan.processes[1].keys, "");
  EXPECT_EQ(shared.own.size(), 2U);
  EXPECT_EQ(shared.allowed.size(), 3U);
}

// A mounted secret of Kubernetes has links to files, in a directory that all can write.
TEST(JobKeys, KeysOfARoleMayBeLinksInADirectoryOfOthers) {
  const TemporaryFolder folder;
  LaunchPlan plan;
  plan.processes = {{"scheduler", "here", Role::scheduler, {}, ""},
                    {"server-0", "here", Role::shard, {}, ""},
                    {"ada", "here", Role::worker, {}, ""},
                    {"bob", "here", Role::worker, {}, ""}};
  EXPECT_THAT(complaint_of([&] { give_keys(plan, folder.path("secret")); }),
              AllOf(HasSubstr("scheduler.key"), HasSubstr("steelyard keys new")));
  std::filesystem::create_directory(folder.path("secret"));
  for (const KeyRole role : {KeyRole::scheduler, KeyRole::server, KeyRole::worker}) {
    write_key(folder.path("data"), make_key(role, name(role)));
    std::filesystem::create_symlink(folder.path("data") + "/" + name(role) + ".key",
                                    folder.path("secret") + "/" + name(role) + ".key");
  }
  std::filesystem::permissions(folder.path("secret"), std::filesystem::perms::all);
  give_keys(plan, folder.path("secret"));
  const KeyLines server = parse_keys(plan.processes[1].keys, ""),
                 ada = parse_keys(plan.processes[2].keys, ""), bob = parse_keys(plan.processes[3].keys, "");
  EXPECT_EQ(server.own.at(0).role, KeyRole::server);
  EXPECT_EQ(server.allowed.size(), 3U);
  EXPECT_EQ(ada.allowed.size(), 1U);
  EXPECT_EQ(ada.own.at(0).public_key, bob.own.at(0).public_key);
  std::filesystem::permissions(folder.path("data") + "/worker.key", std::filesystem::perms::group_read,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(complaint_of([&] { give_keys(plan, folder.path("secret")); }), HasSubstr("read by others"));
}

}  // namespace
}  // namespace steelyard::job_keys_test
