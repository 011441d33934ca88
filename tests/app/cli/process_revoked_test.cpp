// A key is removed from an allow-list while a job runs, for each pair of roles. Only a process that has lost
// the scheduler exits; the job continues if a mirror or another worker is left. Each process has its own key
// directory.
#include <gmock/gmock.h>

#include <csignal>
#include <map>
#include <memory>

#include "tests/support/process_run.h"
#include "transport/security/key_files.h"

namespace steelyard::process_revoked_test {
namespace {

using testing::HasSubstr;

struct Revocation {
  std::string name;     // of the test
  std::string list_of;  // the process that owns the allow-list
  std::string revoked;  // the process that is removed from the list
  std::string exits;    // the process that exits with 78; empty if none does
  std::string logged;   // part of the scheduler's log
};

class ProcessRevoked : public ProcessTest, public testing::WithParamInterface<Revocation> {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    std::map<std::string, KeyPair> pairs;
    for (const auto& [name, role] :
         std::initializer_list<std::pair<const char*, KeyRole>>{{"scheduler", KeyRole::scheduler},
                                                                {"s0", KeyRole::server},
                                                                {"s1", KeyRole::server},
                                                                {"ada", KeyRole::worker},
                                                                {"bob", KeyRole::worker}}) {
      pairs.emplace(name, make_key(role, name));
    }
    AllowList all;
    for (const auto& [name, pair] : pairs) all.emplace(pair.public_key, Allowed{pair.role, name});
    for (const auto& [name, pair] : pairs) {
      write_key(keys(name), pair);
      write_allowed(keys(name), all);
    }
  }
  [[nodiscard]] std::string keys(const std::string& name) const { return path("keys-" + name); }
  void start(const std::string& name, std::vector<std::string> words) {
    words.insert(words.end(), {"--name", name, "--keys", keys(name), "--scheduler", endpoint_});
    all_[name] = std::make_unique<Process>(path(name + ".log"), words);
  }
  void begin() {
    scheduler_ = std::make_unique<Process>(
        path("scheduler.log"),
        std::vector<std::string>{"scheduler", job_, "--listen", endpoint_, "--run-dir", path("run"), "--keys",
                                 keys("scheduler"), "--set", "train.epochs=1000000", "--set",
                                 "cluster.replicas=1", "--set", "cluster.heartbeat_timeout=2"});
    for (const char* name : {"s0", "s1"}) start(name, {"server", "--mirrors", "1"});
    for (const char* name : {"ada", "bob"}) start(name, {"worker"});
    ASSERT_TRUE(eventually([&] {
      const std::string output = scheduler_->output();
      const std::size_t first = output.find(" mirrors 's");
      return first != std::string::npos && output.find(" mirrors 's", first + 1) != std::string::npos;
    })) << scheduler_->output();
    ASSERT_TRUE(continues());
  }
  [[nodiscard]] bool continues() const {
    const auto size = [&] { return text_of(path("run/rounds.jsonl")).size(); };
    const std::size_t now = size();
    return eventually([&] { return size() > now + 2000; });
  }

  const std::string endpoint_ = "127.0.0.1:" + free_port();
  std::unique_ptr<Process> scheduler_;
  std::map<std::string, std::unique_ptr<Process>> all_;
};

TEST_P(ProcessRevoked, OnlyProcessesWithoutASchedulerExit) {
  const Revocation& it = GetParam();
  begin();
  ASSERT_EQ(run({"keys", "revoke", keys(it.list_of), it.revoked}), 0) << said_;
  EXPECT_TRUE(eventually([&] { return scheduler_->says(it.logged); })) << scheduler_->output();
  if (!it.exits.empty()) {
    ends_clean(*all_.at(it.exits), 78);
    EXPECT_THAT(all_.at(it.exits)->output(), HasSubstr("keys add"));
  }
  EXPECT_TRUE(continues()) << scheduler_->output();
  scheduler_->signal(SIGINT);
  ends_clean(*scheduler_, 75);
  for (const auto& [name, process] : all_)
    if (name != it.exits) ends_clean(*process, 75);
}

INSTANTIATE_TEST_SUITE_P(
    Pairs, ProcessRevoked,
    testing::Values(Revocation{"AServerLosesTheScheduler", "s1", "scheduler", "s1", "is in its place"},
                    Revocation{"AServerLosesAWorker", "s1", "ada", "", "worker 'ada' has had no answer"},
                    Revocation{"AServerLosesAServer", "s1", "s0", "", "refilling it"},
                    Revocation{"AWorkerLosesAServer", "ada", "s1", "", "worker 'ada' has had no answer"},
                    Revocation{"AWorkerLosesTheScheduler", "ada", "scheduler", "ada", "worker 'ada' failed"},
                    Revocation{"TheSchedulerLosesAServer", "scheduler", "s1", "s1", "is in its place"},
                    Revocation{"TheSchedulerLosesAWorker", "scheduler", "ada", "ada",
                               "is no longer in the allow-list"}),
    [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace steelyard::process_revoked_test
