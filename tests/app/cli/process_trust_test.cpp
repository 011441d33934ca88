// Keys are created, copied and revoked, and strangers are refused. Real processes over TCP.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include "core/text.h"
#include "tests/support/process_run.h"
#include "transport/security/key_files.h"

namespace steelyard::process_trust_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ProcessTrust : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    for (const char* role : {"scheduler", "server", "worker"})
      ASSERT_EQ(run({"keys", "new", keys_, role}), 0) << said_;
  }
  // The system chooses a free port; the log shows it.
  std::unique_ptr<Process> scheduler(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words{"scheduler", job_,        "--listen", "127.0.0.1:*",
                                   "--run-dir", path("run"), "--keys",   keys_};
    words.insert(words.end(), more.begin(), more.end());
    auto it = start("scheduler", words);
    EXPECT_TRUE(eventually([&] { return it->says("workers at tcp://"); })) << it->output();
    const std::string output = it->output(), mark = "workers at tcp://";
    const std::size_t begin = output.find(mark) + mark.size();
    endpoint_ = output.substr(begin, output.find_first_of("\r\n \x1b", begin) - begin);
    return it;
  }
  std::unique_ptr<Process> start(const std::string& name, const std::vector<std::string>& words) {
    return std::make_unique<Process>(path(name + ".log"), words);
  }
  std::unique_ptr<Process> server(const std::string& name) {
    return start(name, {"server", "--scheduler", endpoint_, "--name", name, "--keys", keys_});
  }
  std::unique_ptr<Process> worker(const std::string& name, const std::vector<std::string>& keys) {
    std::vector<std::string> words{"worker", "--scheduler", endpoint_, "--name", name};
    words.insert(words.end(), keys.begin(), keys.end());
    return start(name, words);
  }
  [[nodiscard]] std::string secret_of(const std::string& name, KeyRole role) const {
    return load_keys(keys_, role, name).own.secret.letters();
  }
  // A refused process exits automatically and prints the reason.
  void is_refused(Process& it, const std::string& why) {
    ends_clean(it, 78);
    EXPECT_THAT(it.output(), HasSubstr(why));
  }

  const std::string keys_ = (directory_ / "keys").string();
  std::string endpoint_;
};

TEST_F(ProcessTrust, KeysAreCreatedListedAndRevoked) {
  ASSERT_EQ(run({"keys", "new", keys_, "worker", "ada"}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("worker ada "), Not(HasSubstr(secret_of("ada", KeyRole::worker)))));
  const std::string key = load_keys(keys_, KeyRole::worker, "ada").own.public_key;
  ASSERT_EQ(run({"keys", "list", keys_}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("worker ada " + key), HasSubstr("scheduler scheduler ")));
  ASSERT_EQ(run({"keys", "revoke", keys_, "ada"}), 0);
  EXPECT_EQ(run({"keys", "revoke", keys_, "ada"}), 2);
  ASSERT_EQ(run({"keys", "list", keys_}), 0);
  EXPECT_THAT(said_, Not(HasSubstr(key)));
  ASSERT_EQ(run({"keys", "add", keys_, "worker", "ada", key}), 0);
  EXPECT_EQ(run({"keys", "add", keys_, "worker", "bob", "short"}), 2);
  EXPECT_EQ(run({"keys", "add", keys_, "boss", "bob", key}), 2);
  EXPECT_EQ(run({"keys", "new", keys_, "worker", "ada"}), 78) << "a key is never overwritten";
  ASSERT_EQ(run({"keys", "add", keys_, "worker", "bob", key}), 0);
  EXPECT_EQ(run({"keys", "new", keys_, "worker", "bob"}), 2) << "another key has that name";
  EXPECT_FALSE(std::filesystem::exists(keys_ + "/bob.key"));
  chmod((keys_ + "/ada.key").c_str(), 0644);
  EXPECT_EQ(run({"worker", "--scheduler", "127.0.0.1:1", "--name", "ada", "--keys", keys_}), 78);
  EXPECT_THAT(said_, HasSubstr("can be read by others"));
}

TEST_F(ProcessTrust, ConcurrentKeysOfOneNameLeaveExactlyOne) {
  for (int turn = 0; turn < 5; ++turn) {
    const std::string name = "w" + std::to_string(turn), log = path("log-" + name + "-");
    std::vector<std::unique_ptr<Process>> all;
    for (int i = 0; i < 6; ++i)
      all.push_back(std::make_unique<Process>(
          log + std::to_string(i), std::vector<std::string>{"keys", "new", keys_, "worker", name}));
    std::string made;
    for (const auto& it : all) {
      const int code = it->code().value_or(-1);
      EXPECT_THAT(code, testing::AnyOf(0, 2, 78)) << it->output();
      if (code == 0) made += it->output();
    }
    const std::string key = load_keys(keys_, KeyRole::worker, name).own.public_key;
    EXPECT_EQ(made, "worker " + name + " " + key + "\n") << "exactly one was made";
    EXPECT_EQ(read_allowed(keys_).count(key), 1U);
  }
}

TEST_F(ProcessTrust, ARefusedKeyLeavesNoFile) {
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& it : std::filesystem::directory_iterator(directory_)) names.insert(it.path());
    for (const auto& it : std::filesystem::directory_iterator(keys_)) names.insert(it.path());
    return names;
  };
  ASSERT_EQ(run({"keys", "add", keys_, "worker", "bob", make_key(KeyRole::worker, "bob").public_key}), 0);
  const auto before = files();
  EXPECT_EQ(run({"keys", "new", keys_, "worker", "bob"}), 2) << said_;
  EXPECT_EQ(run({"keys", "new", keys_, "worker", "../bob"}), 2) << said_;
  EXPECT_EQ(run({"keys", "new", path("fresh"), "worker", "a/b"}), 2) << said_;
  EXPECT_EQ(run({"keys", "new", path("fresh"), "boss"}), 2) << said_;
  chmod((keys_ + "/allowed").c_str(), 0666);
  EXPECT_EQ(run({"keys", "new", keys_, "worker", "eve"}), 78) << said_;
  EXPECT_EQ(files(), before);
}

// Every kind of stranger is refused; the admitted processes complete the training.
TEST_F(ProcessTrust, OnlyProcessesWithAllowedKeysTakePart) {
  const std::string other = path("other");
  ASSERT_EQ(run({"keys", "new", other, "worker"}), 0);
  ASSERT_EQ(run({"keys", "new", other, "server"}), 0);
  const std::string hub = load_keys(keys_, KeyRole::scheduler, "").own.public_key;
  ASSERT_EQ(run({"keys", "add", other, "scheduler", "hub", hub}), 0);
  const std::string wrong = path("wrong");
  ASSERT_EQ(run({"keys", "new", wrong, "worker"}), 0);
  ASSERT_EQ(run({"keys", "add", wrong, "scheduler", "hub", make_key(KeyRole::scheduler, "x").public_key}), 0);

  const auto leader = scheduler();
  const auto plain = worker("plain", {});
  const auto unknown = worker("unknown", {"--keys", other});
  const auto misled = worker("misled", {"--keys", wrong});
  is_refused(*plain, "accepts only processes with keys");
  is_refused(*unknown, "does not accept this key");
  is_refused(*misled, "another key than expected");
  const auto s0 = server("s0"), s1 = server("s1");
  const auto ada = worker("ada", {"--keys", keys_}), bob = worker("bob", {"--keys", keys_});
  for (const auto* it : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**it, 0);
  EXPECT_GT(accuracy("run"), 0.9);
  const std::string output = leader->output();
  const std::size_t first = output.find("refused a connection from");
  EXPECT_NE(first, std::string::npos) << output;
  EXPECT_EQ(output.find("refused a connection from", first + 1), std::string::npos) << "logged once";
  for (const auto& [name, role] : {std::pair{"worker", KeyRole::worker}, {"server", KeyRole::server}}) {
    for (const auto* it : {&leader, &s0, &s1, &ada, &bob})
      EXPECT_FALSE((*it)->says(secret_of(name, role))) << "secrets are in no log";
  }
}

TEST_F(ProcessTrust, ARevokedWorkerIsLostAndTheOthersContinue) {
  ASSERT_EQ(run({"keys", "new", keys_, "worker", "eve"}), 0);
  const auto leader = scheduler({"--set", "train.epochs=1000000"});
  const auto s0 = server("s0"), s1 = server("s1");
  const auto ada = worker("ada", {"--keys", keys_}), eve = worker("eve", {"--keys", keys_});
  ASSERT_TRUE(eventually([&] { return leader->says("checkpoint of round"); })) << leader->output();
  ASSERT_EQ(run({"keys", "revoke", keys_, "eve"}), 0);
  is_refused(*eve, "does not accept this key");
  // It depends on which of the two the scheduler notices first.
  EXPECT_TRUE(eventually([&] {
    return leader->says("is no longer in the allow-list") || leader->says("worker 'eve' is lost");
  }));
  const auto size = [&] { return text_of(path("run/rounds.jsonl")).size(); };
  const std::size_t now = size();
  EXPECT_TRUE(eventually([&] { return size() > now; })) << "training continues";
  leader->signal(SIGINT);
  for (const auto* it : {&leader, &s0, &s1, &ada}) ends_clean(**it, 75);
}

TEST_F(ProcessTrust, AKeyedRunRecoversOnlyWithTheSameKeys) {
  const auto leader = scheduler();
  leader->signal(SIGKILL);
  EXPECT_EQ(leader->code(), -SIGKILL);
  const std::vector<std::string> again{"scheduler", job_, "--run-dir", path("run"), "--recover"};
  EXPECT_EQ(run(again), 2);
  const std::string key = load_keys(keys_, KeyRole::scheduler, "").own.public_key;
  const auto names_the_key = AllOf(HasSubstr(path("run")), HasSubstr(key), HasSubstr("give the same --keys"));
  EXPECT_THAT(said_, names_the_key);
  ASSERT_EQ(run({"keys", "new", path("other"), "scheduler"}), 0);
  std::vector<std::string> other = again;
  other.insert(other.end(), {"--keys", path("other")});
  EXPECT_EQ(run(other), 2);
  EXPECT_THAT(said_, names_the_key);
  std::vector<std::string> keyed = again;
  keyed.insert(keyed.end(), {"--keys", keys_});
  const auto second = start("second", keyed);
  EXPECT_TRUE(eventually([&] { return second->says("continuing job"); })) << second->output();
  second->signal(SIGINT);
  ends_clean(*second, 75);
}

// A thousand connections to the scheduler that send nothing or garbage during training.
TEST_F(ProcessTrust, GarbageConnectionsDoNotStopTraining) {
  const auto leader = scheduler({"--set", "train.epochs=1000000"});
  const auto s0 = server("s0"), s1 = server("s1");
  const auto ada = worker("ada", {"--keys", keys_}), bob = worker("bob", {"--keys", keys_});
  ASSERT_TRUE(eventually([&] { return leader->says("checkpoint of round"); })) << leader->output();
  const pid_t process = leader->living_with("--run-dir");
  ASSERT_GT(process, 0);
  const auto resident = [&] {
    const std::string text = text_of("/proc/" + std::to_string(process) + "/status");
    return std::strtoull(text.c_str() + text.find("VmRSS:") + 6, nullptr, 10);  // KiB
  };
  const auto before = resident();
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_port = htons(static_cast<std::uint16_t>(std::stoi(endpoint_.substr(endpoint_.rfind(':') + 1))));
  inet_pton(AF_INET, "127.0.0.1", &place.sin_addr);
  std::vector<int> all;
  for (int i = 0; i < 1000; ++i) {
    const int it = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (it < 0 || connect(it, reinterpret_cast<sockaddr*>(&place), sizeof place) != 0) break;
    all.push_back(it);
    const std::string garbage(static_cast<std::size_t>(i % 100) * 11, static_cast<char>(i));
    if (i % 2 == 1) (void)!send(it, garbage.data(), garbage.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  EXPECT_EQ(all.size(), 1000U);
  const auto size = [&] { return text_of(path("run/rounds.jsonl")).size(); };
  for (int i = 0; i < 3; ++i) {
    const std::size_t now = size();
    EXPECT_TRUE(eventually([&] { return size() > now; })) << "training continues";
  }
  EXPECT_LT(resident(), before + (64 << 10));
  for (const int it : all) close(it);
  leader->signal(SIGINT);
  for (const auto* it : {&leader, &s0, &s1, &ada, &bob}) ends_clean(**it, 75);
}

}  // namespace
}  // namespace steelyard::process_trust_test
