// servers = "workers" with keys, and with workers on several hosts: their shards, here on the host executor,
// listen for the other workers.
#include <gmock/gmock.h>
#include <unistd.h>

#include <fstream>
#include <memory>

#include "core/json.h"
#include "core/processor.h"
#include "nn/cuda_devices.h"
#include "protocol/keys.h"
#include "tests/support/namespaces.h"
#include "tests/support/process_run.h"
#include "transport/security/key_files.h"

namespace steelyard::process_hosted_hosts_test {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class HostedWithKeys : public ProcessTest {
 protected:
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    for (const char* role : {"scheduler", "server", "worker"})
      ASSERT_EQ(run({"keys", "new", keys_, role}), 0) << said_;
  }
  // Starts the scheduler, which notices later changes of its allow-list with a delay.
  void begin() {
    std::string text = text_of(job_);
    const std::string name = "name = \"ada\"";
    text.replace(text.find(name), name.size(), name + "\ndevice = \"host-cuda\"");
    leader_ =
        start("scheduler", {"scheduler", write("hosted.toml", text), "--listen", "127.0.0.1:*", "--run-dir",
                            path("run"), "--keys", keys_, "--set", "cluster.servers=workers"});
    const std::string mark = "workers at tcp://";
    ASSERT_TRUE(eventually([&] { return leader_->says(mark); })) << leader_->output();
    const std::string output = leader_->output();
    const std::size_t begin = output.find(mark) + mark.size();
    endpoint_ = output.substr(begin, output.find_first_of("\r\n \x1b", begin) - begin);
  }
  void TearDown() override {
    leader_.reset();
    ProcessTest::TearDown();
  }
  std::unique_ptr<Process> start(const std::string& name, const std::vector<std::string>& words) {
    return std::make_unique<Process>(path(name + ".log"), words);
  }
  std::unique_ptr<Process> worker(const std::string& name, const std::string& keys,
                                  std::vector<std::string> more = {}) {
    more.insert(more.begin(), {"worker", "--scheduler", endpoint_, "--name", name, "--keys", keys});
    return start(name + "-" + std::to_string(++started_), more);
  }
  std::unique_ptr<Process> hosting(const std::string& keys, const std::string& wait = "3") {
    return worker("ada", keys, {"--device", "host-cuda", "--shards", "1", "--wait", wait});
  }
  // A directory with the worker's key and the scheduler in its list.
  std::string keys_of_a_worker(const std::string& name) {
    const Keys known = load_keys(keys_, KeyRole::worker, "");
    write_key(path(name), known.own);
    write_allowed(path(name), known.allowed);
    return path(name);
  }
  // The job still trains with processes that have the right keys.
  void trains() {
    const auto ada = hosting(keys_, "60"), bob = worker("bob", keys_);
    for (Process* it : {leader_.get(), ada.get(), bob.get()}) ends_clean(*it, 0);
    EXPECT_THAT(leader_->output(), HasSubstr("server 'ada' joined at tcp://127.0.0.1:"));
    EXPECT_GT(accuracy("run"), 0.9);
  }

  const std::string keys_ = path("keys");
  std::unique_ptr<Process> leader_;
  std::string endpoint_;
  int started_ = 0;
};

TEST_F(HostedWithKeys, AProcessWithTheKeysOfBothRolesTrains) {
  begin();
  trains();
  for (const KeyRole role : {KeyRole::server, KeyRole::worker})
    EXPECT_FALSE(leader_->says(load_keys(keys_, role, "").own.secret.letters()));
}

TEST_F(HostedWithKeys, AKeyNamedAfterTheWorkersShardsIsPreferred) {
  ASSERT_EQ(run({"keys", "new", keys_, "server", "ada-server"}), 0) << said_;
  ASSERT_EQ(run({"keys", "revoke", keys_, "server"}), 0) << said_;
  begin();
  trains();
}

TEST_F(HostedWithKeys, TheKeyOfAWorkerIsNotEnough) {
  begin();
  const auto it = hosting(keys_of_a_worker("only"));
  ends_clean(*it, 78);
  EXPECT_THAT(it->output(), AllOf(HasSubstr("--shards: the shards of worker 'ada' need the key of a server"),
                                  HasSubstr("steelyard keys new")));
  trains();
}

TEST_F(HostedWithKeys, AnUnknownKeyOfAServerIsRefused) {
  begin();
  const std::string strange = keys_of_a_worker("strange");
  write_key(strange, make_key(KeyRole::server, "server"));
  const auto it = hosting(strange);
  ends_clean(*it, 78);
  EXPECT_THAT(it->output(), HasSubstr("does not accept this key"));
  trains();
}

// The file states the role of a server; the list of the scheduler has the key as that of a worker.
TEST_F(HostedWithKeys, AWorkersKeyCannotClaimAShard) {
  begin();
  const std::string forged = keys_of_a_worker("forged");
  KeyPair pair = load_keys(keys_, KeyRole::worker, "").own;
  pair.role = KeyRole::server;
  pair.name = "server";
  write_key(forged, pair);
  const auto it = hosting(forged);
  const auto code = it->code();
  ASSERT_TRUE(code) << it->output();
  EXPECT_NE(*code, 0) << it->output();
  EXPECT_THAT(it->output(), HasSubstr("no answer from the scheduler"));
  EXPECT_FALSE(leader_->says("server 'ada' joined"));
  trains();
}

// Two hosts on this machine, each with a worker on a device, and no server.
class HostedOnHosts : public ProcessTest {
 protected:
  void SetUp() override {
    if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
    ProcessTest::SetUp();
  }
  static std::string host(const std::string& keys, const std::string& worker) {
    return "[[host]]\n" + keys + "\n[[host.worker]]\n" + worker + "\n";
  }
  [[nodiscard]] static std::string two_hosts(const std::string& bob = "device = \"host-cuda\"") {
    return "[defaults]\nthrough = [\"env\", \"WHERE={name}\"]\nshared_files = true\n" +
           host("name = \"lion\"\naddress = \"127.0.0.1\"\nscheduler = true\nport = " + free_port(),
                "name = \"ada\"\ndevice = \"host-cuda\"") +
           host("name = \"mouse\"\naddress = \"127.0.0.1\"", "name = \"bob\"\nsimulate_slowdown = 2\n" + bob);
  }
  // `command`: launch or doctor.
  std::unique_ptr<Process> start(const std::string& command, const std::string& hosts,
                                 const std::vector<std::string>& more) {
    std::vector<std::string> words{command, write("hosts.toml", hosts), job_};
    words.insert(words.end(), more.begin(), more.end());
    return std::make_unique<Process>(path("launch-" + std::to_string(++launches_) + ".log"), words, [this] {
      if (chdir(directory_.c_str()) != 0) _exit(125);
    });
  }
  static std::vector<std::string> ordered(std::vector<std::string> more) {
    more.insert(more.end(), {"--set", "cluster.sum_order=ordered", "--set", "cluster.policy=equal", "--set",
                             "train.epochs=2"});
    return more;
  }

  int launches_ = 0;
};

// With keys that the launcher makes; the results are those of servers on processors.
TEST_F(HostedOnHosts, WorkersOnDevicesAreTheServers) {
  const auto hosted =
      start("launch", two_hosts(), ordered({"--run-dir", "hosted", "--set", "cluster.servers=workers"}));
  ends_clean(*hosted, 0);
  const std::string log = text_of(path("hosted/log/scheduler.log"));
  EXPECT_THAT(log, AllOf(HasSubstr("server 'ada' joined at tcp://127.0.0.1:"),
                         HasSubstr("server 'bob' joined at tcp://127.0.0.1:"), Not(HasSubstr("'server-0'"))));
  EXPECT_GT(accuracy("hosted"), 0.9);
  if (cpu_level() == Level::baseline)
    GTEST_SKIP() << "this processor rounds twice where a device rounds once";
  ASSERT_EQ(run(train("servers",
                      {"cluster.sum_order=ordered", "cluster.policy=equal", "train.epochs=2",
                       "cluster.servers=2", "worker.ada.device=host-cuda", "worker.bob.device=host-cuda"})),
            0)
      << said_;
  EXPECT_EQ(newest_checkpoint("servers").parameters, newest_checkpoint("hosted").parameters);
}

TEST_F(HostedOnHosts, WorkersOnProcessorsTakePart) {
  const auto mixed =
      start("launch", two_hosts(""), {"--run-dir", "run", "--insecure", "--set", "cluster.servers=workers"});
  ends_clean(*mixed, 0);
  EXPECT_GT(accuracy("run"), 0.9);
  EXPECT_THAT(text_of(path("run/log/scheduler.log")),
              AllOf(HasSubstr("server 'ada' joined"), Not(HasSubstr("server 'bob' joined"))));
}

TEST_F(HostedOnHosts, AShardIsReachedAtTheAddressOfItsHost) {
  const Namespaces hosts;
  if (!hosts.ready()) GTEST_SKIP() << no_namespaces;
  const std::string text =
      "[[host]]\nname = \"one\"\nnetns = \"" + Namespaces::name(1) +
      "\"\naddress = \"10.77.2.1\"\nlisten = \"0.0.0.0\"\nscheduler = true\n" +
      host("name = \"two\"\nnetns = \"" + Namespaces::name(2) + "\"\naddress = \"10.77.2.2\"",
           "name = \"ada\"\ndevice = \"host-cuda\"") +
      "[[host.worker]]\nname = \"bob\"\n";
  const auto run = start("launch", text, {"--run-dir", "run", "--set", "cluster.servers=workers"});
  ends_clean(*run, 0);
  EXPECT_THAT(text_of(path("run/log/scheduler.log")), HasSubstr("server 'ada' joined at tcp://10.77.2.2:"));
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(HostedOnHosts, DoctorTriesTheLinesToTheShards) {
  const auto seen =
      start("doctor", two_hosts(""), {"--set", "cluster.servers=workers", "--json", "doctor.json"});
  ends_clean(*seen, 0);
  EXPECT_TRUE(seen->says("all that `steelyard launch` needs is there"));
  const Json lines = parse_json(text_of(path("doctor.json")))["lines"];
  ASSERT_EQ(lines.size(), 2U) << "to the scheduler and to the shard";
  EXPECT_EQ(lines[1]["from"], "mouse");
  EXPECT_EQ(lines[1]["to"], "lion");
}

TEST_F(HostedOnHosts, WhatCannotHoldIsRefused) {
  const auto without = start("launch", two_hosts(), {});
  ends_clean(*without, 78);
  EXPECT_THAT(without->output(), AllOf(HasSubstr("hosts.toml: no host has a server"),
                                       HasSubstr("servers = \"workers\" in [cluster]")));
  EXPECT_FALSE(fs::exists(path("runs")));
  std::string processors = two_hosts("");
  processors.replace(processors.find("device = \"host-cuda\""), 20, "");
  const auto none = start("launch", processors, {"--set", "cluster.servers=workers"});
  ends_clean(*none, 78);
  EXPECT_THAT(none->output(), HasSubstr("give a worker a GPU"));
}

}  // namespace
}  // namespace steelyard::process_hosted_hosts_test
