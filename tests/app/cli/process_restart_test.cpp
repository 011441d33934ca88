// The scheduler is killed while real processes train; the job continues where it was.
#include <gmock/gmock.h>

#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tests/support/process_run.h"

namespace steelyard::process_restart_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProcessRestart : public ProcessTest {
 protected:
  // rounds.jsonl has exactly `rounds` training rounds, in order, and the shares of each cover all of its
  // positions.
  void expect_each_round_once(const std::string& run_dir, Round rounds) const {
    std::ifstream in(path(run_dir + "/rounds.jsonl"));
    Round next = 0;
    for (std::string line; std::getline(in, line);) {
      const auto round = nlohmann::json::parse(line);
      if (round["purpose"] != "train") continue;
      EXPECT_EQ(round["round"], next);
      next = round["round"].get<Round>() + 1;
      std::uint64_t sum = 0;
      for (const std::uint64_t share : round["shares"]) sum += share;
      EXPECT_EQ(sum, round["end"].get<std::uint64_t>() - round["begin"].get<std::uint64_t>());
    }
    EXPECT_EQ(next, rounds);
    EXPECT_EQ(nlohmann::json::parse(text_of(path(run_dir + "/result.json")))["rounds"], rounds);
  }
  [[nodiscard]] static std::size_t times(const std::string& text, const std::string& what) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; ++at) ++count;
    return count;
  }
  // The number of servers that have loaded the whole initial state, according to a journal as text.
  [[nodiscard]] static std::size_t loaded_shards(const std::string& journal) {
    std::set<std::string> loaded;
    std::istringstream in(journal);
    for (std::string line; std::getline(in, line);) {
      std::istringstream words(line);
      std::string number, time, from, what, term, version, opened, is_loaded;
      words >> number >> time >> from >> what >> term >> version >> opened >> is_loaded;
      if (what == "ShardBeat" && is_loaded == "yes") loaded.insert(from);
    }
    return loaded.size();
  }
  [[nodiscard]] bool has_checkpoint_since(const std::string& run_dir, const std::string& last) const {
    const auto there = list_checkpoints(path(run_dir + "/checkpoints"));
    return !there.empty() && there.front() != last;
  }
  [[nodiscard]] std::string newest(const std::string& run_dir) const {
    const auto there = list_checkpoints(path(run_dir + "/checkpoints"));
    return there.empty() ? "" : there.front();
  }

  // Started by hand: a scheduler of the run `run`, and its members.
  [[nodiscard]] std::vector<std::string> scheduler(const std::string& setting = "job.seed=1") const {
    return {"scheduler", job_, "--listen", endpoint_, "--run-dir", path("run"), "--set", setting};
  }
  [[nodiscard]] Process member(const std::string& role, const std::string& name) const {
    return Process(path(name + ".log"), {role, "--scheduler", endpoint_, "--name", name});
  }

 private:
  const std::string endpoint_ = "ipc://" + path("socket");
};

// Shares are equal and sums are ordered, so the models differ only by rounding: on a busy machine a worker
// may be declared lost while it reconnects, and another worker computes its piece.
TEST_F(ProcessRestart, SchedulerRestartsDoNotChangeTheModel) {
  const std::vector<std::string> settings{"train.epochs=100", "cluster.sum_order=ordered",
                                          "cluster.policy=equal"};
  ASSERT_EQ(run(train("quiet", settings)), 0) << said_;
  Process killed(path("killed.log"), train("killed", settings));
  for (int i = 0; i < 3; ++i) {
    const std::string last = newest("killed");
    ASSERT_TRUE(eventually([&] { return has_checkpoint_since("killed", last); }));
    ASSERT_TRUE(restart_scheduler(killed));
  }
  ends_clean(killed, 0);
  expect_each_round_once("killed", 3200);
  EXPECT_THAT(newest_checkpoint("killed").parameters,
              testing::Pointwise(testing::FloatNear(1e-4F), newest_checkpoint("quiet").parameters));
  const std::string events = text_of(path("killed/events.jsonl"));
  EXPECT_EQ(times(events, "the scheduler was restarted"), 3U);
  EXPECT_EQ(times(events, "worker 'ada' joined"), 1U) << "events are recorded once";
  EXPECT_THAT(killed.output(),
              AllOf(HasSubstr("the scheduler was killed by signal 9"), HasSubstr("continuing job")));
}

TEST_F(ProcessRestart, TheJournalCommandPrintsTheSameEachTime) {
  ASSERT_EQ(run(train("run", {"train.epochs=1"})), 0) << said_;
  ASSERT_EQ(run({"journal", path("run")}), 0) << said_;
  const std::string first = said_;
  EXPECT_THAT(first, AllOf(HasSubstr("#1 "), HasSubstr(" Hello "), HasSubstr(" Report "),
                           HasSubstr("-> worker-"), HasSubstr(" Start "), HasSubstr("-> recorder Ended ")));
  ASSERT_EQ(run({"journal", path("run")}), 0);
  EXPECT_EQ(said_, first);
  ASSERT_EQ(run({"journal", path("run"), "--until", "20"}), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("#20 "), testing::Not(HasSubstr("#21 "))));
  EXPECT_EQ(said_, first.substr(0, said_.size()));
  ASSERT_EQ(run({"journal", path("nowhere")}), 74);
}

// At 4 MB the journal is replaced by a shorter one that contains the scheduler's state.
TEST_F(ProcessRestart, ContinuesFromACondensedJournal) {
  Process killed(path("killed.log"), train("killed", {"train.epochs=40", "train.batch=32",
                                                      "train.checkpoint_every=0", "train.evaluate_every=0"}));
  std::uintmax_t most = 0;
  const auto is_condensed = [&] {
    std::error_code none;
    const std::uintmax_t size = std::filesystem::file_size(path("killed/journal"), none);
    return none ? false : size < std::exchange(most, std::max(most, size));
  };
  ASSERT_TRUE(eventually(is_condensed)) << most;
  ASSERT_TRUE(restart_scheduler(killed));
  ends_clean(killed, 0);
  expect_each_round_once("killed", 40 * 256);
  const std::string events = text_of(path("killed/events.jsonl"));
  EXPECT_EQ(times(events, "the scheduler was restarted"), 1U);
  EXPECT_EQ(times(events, "worker 'ada' joined"), 1U);
  EXPECT_THAT(killed.output(), HasSubstr("(10240 rounds)"));
}

TEST_F(ProcessRestart, TheSchedulerRestartsBeforeTrainingBegins) {
  std::vector<std::string> arguments = train("run", {"train.epochs=1"});
  Process run(path("run.log"), arguments);
  ASSERT_TRUE(eventually([&] { return run.living_with(" scheduler ") != 0; }));
  kill(run.living_with(" scheduler "), SIGKILL);
  ends_clean(run, 0);
  expect_each_round_once("run", 32);
}

TEST_F(ProcessRestart, ASchedulerRestartsByHandWithRecover) {
  std::vector<std::string> words = scheduler("train.epochs=100");
  Process first(path("first.log"), words);
  Process s0 = member("server", "s0");
  Process s1 = member("server", "s1");
  Process ada = member("worker", "ada");
  Process bob = member("worker", "bob");
  ASSERT_TRUE(eventually([&] { return has_checkpoint_since("run", ""); }));
  first.signal(SIGKILL);
  EXPECT_EQ(first.code(), -SIGKILL);
  words.emplace_back("--recover");
  Process second(path("second.log"), words);
  for (Process* it : {&second, &s0, &s1, &ada, &bob}) ends_clean(*it, 0);
  expect_each_round_once("run", 3200);
}

TEST_F(ProcessRestart, RecoverStartsAFreshJobIfNoneWasWritten) {
  std::vector<std::string> words = scheduler();
  words.emplace_back("--recover");
  std::filesystem::create_directories(path("run/checkpoints"));
  std::filesystem::create_directories(path("run/log"));
  { std::ofstream(path("run/lock")); }
  Process again(path("again.log"), words);
  ASSERT_TRUE(eventually([&] { return again.says("waiting for"); }));
  again.signal(SIGINT);
  ends_clean(again, 75);
  EXPECT_TRUE(std::filesystem::exists(path("run/job.toml")));
  std::filesystem::remove(path("run/job.toml"));
  EXPECT_EQ(run(words), 74) << "the directory has other contents";
}

// A server may be replaced until training begins; the replacement gets the initial state.
TEST_F(ProcessRestart, AServerThatJoinsAfterARestartGetsTheInitialState) {
  std::vector<std::string> words = scheduler("cluster.heartbeat_timeout=2");
  Process first(path("first.log"), words);
  Process s0 = member("server", "s0");
  Process s1 = member("server", "s1");
  // No worker has joined; both servers have the whole initial state.
  ASSERT_TRUE(eventually([&] {
    if (text_of(path("run/journal")).empty() || run({"journal", path("run")}) != 0) return false;
    return loaded_shards(said_) == 2;
  }));
  first.signal(SIGKILL);
  EXPECT_EQ(first.code(), -SIGKILL);
  words.emplace_back("--recover");
  Process second(path("second.log"), words);
  ASSERT_TRUE(eventually([&] { return second.says("continuing job"); }));
  s1.signal(SIGKILL);
  ASSERT_TRUE(eventually([&] { return second.says("is lost; waiting for a replacement"); }));
  Process s2 = member("server", "s2");
  Process ada = member("worker", "ada");
  Process bob = member("worker", "bob");
  for (Process* it : {&second, &s0, &s2, &ada, &bob}) ends_clean(*it, 0);
}

// The disk was full and the journal was abandoned; then the scheduler is killed.
TEST_F(ProcessRestart, RecoverWithAnAbandonedJournalIsRefused) {
  std::vector<std::string> words = scheduler();
  Process first(path("first.log"), words);
  ASSERT_TRUE(eventually([&] { return !text_of(path("run/journal")).empty(); }));
  first.signal(SIGKILL);
  EXPECT_EQ(first.code(), -SIGKILL);
  { std::ofstream(path("run/journal"), std::ios::trunc); }
  words.emplace_back("--recover");
  EXPECT_EQ(run(words), 69);
  EXPECT_THAT(said_, AllOf(HasSubstr(path("run/journal")), HasSubstr("--resume")));
  EXPECT_EQ(run({"journal", path("run")}), 69);
}

// A stopped scheduler still holds the run's lock, so no second scheduler may train there.
TEST_F(ProcessRestart, RecoverIsRefusedWhileTheSchedulerIsAlive) {
  std::vector<std::string> words = scheduler();
  Process first(path("first.log"), words);
  ASSERT_TRUE(eventually([&] { return !text_of(path("run/journal")).empty(); }));
  first.signal(SIGSTOP);
  words.emplace_back("--recover");
  EXPECT_EQ(run(words), 74);
  EXPECT_THAT(said_, AllOf(HasSubstr("is training in it"), HasSubstr(path("run"))));
  first.signal(SIGKILL);
  first.signal(SIGCONT);
}

}  // namespace
}  // namespace steelyard::process_restart_test
