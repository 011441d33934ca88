// `steelyard train` under signals: whatever is killed, the job completes or can be resumed, and no process is
// left behind.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "nn/cuda_devices.h"
#include "tests/support/process_run.h"

namespace steelyard::process_train_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class ProcessTrain : public ProcessTest {
 protected:
  // A job that only a signal ends.
  [[nodiscard]] std::vector<std::string> endless(const std::string& run_dir) const {
    return train(run_dir, {"train.epochs=1000000"});
  }
  void await_checkpoint(const std::string& run_dir) const {
    ASSERT_TRUE(eventually([&] { return !list_checkpoints(path(run_dir + "/checkpoints")).empty(); }))
        << "training did not begin";
  }
  // The existing socket directories.
  [[nodiscard]] std::vector<std::string> sockets() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(directory_)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("steelyard-sockets-")) found.push_back(name);
    }
    return found;
  }
};

TEST_F(ProcessTrain, FinishesWithASummary) {
  ASSERT_EQ(run(train("run")), 0);
  EXPECT_THAT(said_, AllOf(HasSubstr("finished"), HasSubstr("test accuracy"), HasSubstr("percent of ideal")));
  EXPECT_THAT(text_of(path("run/result.json")), HasSubstr("\"outcome\": \"finished\""));
  EXPECT_GT(accuracy("run"), 0.9);
  const std::string rounds = text_of(path("run/rounds.jsonl"));
  EXPECT_EQ(std::count(rounds.begin(), rounds.end(), '\n'), 4 * 32 + 4);  // and an evaluation each epoch
}

TEST_F(ProcessTrain, TraceWritesATimelineOfAllProcesses) {
  std::vector<std::string> words = train("run", {"train.epochs=1"});
  words.emplace_back("--trace");
  ASSERT_EQ(run(words), 0);
  EXPECT_THAT(said_, HasSubstr("run/timeline.json shows what each process did when"));
  const auto events = nlohmann::json::parse(text_of(path("run/timeline.json")))["traceEvents"];
  std::map<std::string, std::size_t> counts;
  std::set<std::string> processes;
  for (const auto& it : events) {
    if (it["name"] == "process_name") processes.insert(it["args"]["name"]);
    ++counts[it["ph"].get<std::string>() + " " + it["name"].get<std::string>()];
  }
  EXPECT_THAT(processes,
              testing::IsSupersetOf({"scheduler (scheduler)", "server-0 (shard)", "ada (worker)"}));
  EXPECT_GE(counts["X Push"], 32U) << "servers sum";
  EXPECT_GE(counts["X round 31"], 2U) << "workers compute";
  EXPECT_GE(counts["X waiting"], 32U);
  EXPECT_GE(counts["s open 31"], 1U);
  EXPECT_EQ(counts["s open 31"], counts["f open 31"]);
  // `steelyard trace` writes the same file.
  EXPECT_EQ(run({"trace", path("run"), "--output", path("again.json")}), 0);
  EXPECT_EQ(text_of(path("again.json")), text_of(path("run/timeline.json")));
}

// One worker runs GPU kernels on the host, the other is a CPU worker.
TEST_F(ProcessTrain, WorkersOnDifferentDevicesTrainTogether) {
  if (!nn::built_with_host_cuda()) GTEST_SKIP() << "this build has no host executor";
  const std::string job = path("mixed.toml");
  std::string text = text_of(job_);
  text.replace(text.find("name = \"ada\""), 12, "name = \"ada\"\ndevice = \"host-cuda\"");
  std::ofstream(job) << text;
  job_ = job;
  ASSERT_EQ(run(train("mixed")), 0);
  EXPECT_GT(accuracy("mixed"), 0.9);
  EXPECT_THAT(text_of(path("mixed/rounds.jsonl")), HasSubstr("ada"));
}

TEST_F(ProcessTrain, CtrlCSavesACheckpointForResuming) {
  {
    Process run(path("first.log"), endless("run"));
    await_checkpoint("run");
    run.signal(SIGINT);
    ends_clean(run, 75);
    EXPECT_TRUE(run.says("stop requested"));
    EXPECT_TRUE(run.says("Ctrl-C again exits immediately"));
    EXPECT_THAT(text_of(path("run/result.json")), HasSubstr("\"interrupted\""));
  }
  // Ends after 2 s, or at once if the first run already had 100000 rounds.
  std::vector<std::string> again = train("run", {"train.epochs=0", "train.rounds=100000", "train.seconds=2"});
  again.emplace_back("--resume");
  EXPECT_EQ(run(again), 0);
  EXPECT_THAT(said_, HasSubstr("resuming from"));
  EXPECT_GT(accuracy("run"), 0.9);
}

// Resuming from checkpoint files gives the same parameters as a run without interruption.
TEST_F(ProcessTrain, AResumedRunEqualsAnUninterruptedOne) {
  const std::vector<std::string> settings{"cluster.sum_order=ordered", "cluster.policy=equal",
                                          "train.epochs=2"};
  EXPECT_EQ(run(train("whole", settings)), 0);
  std::vector<std::string> half = settings;
  half.emplace_back("train.rounds=40");  // in the middle of an epoch
  EXPECT_EQ(run(train("parts", half)), 0);
  std::vector<std::string> rest = train("parts", settings);
  rest.emplace_back("--resume");
  EXPECT_EQ(run(rest), 0) << said_;
  const Snapshot whole = newest_checkpoint("whole"), parts = newest_checkpoint("parts");
  EXPECT_EQ(parts.progress.version, whole.progress.version);
  EXPECT_EQ(whole.progress.version, 64U);
  EXPECT_EQ(parts.parameters, whole.parameters);
}

TEST_F(ProcessTrain, ASecondSignalEndsTheRunAtOnce) {
  Process run(path("run.log"), endless("run"));
  await_checkpoint("run");
  run.signal(SIGSTOP);  // both signals are pending when it continues
  run.signal(SIGINT);
  run.signal(SIGTERM);
  run.signal(SIGCONT);
  const auto code = run.code();
  EXPECT_THAT(code, testing::Optional(testing::AnyOf(128 + SIGINT, 128 + SIGTERM)));
  EXPECT_TRUE(eventually([&] { return run.living().empty(); }));
  EXPECT_THAT(run.output(), AllOf(HasSubstr("exiting immediately: "), HasSubstr(" " + path("run"))));
}

// An engine signals every process of a job, and so do their supervisors.
TEST_F(ProcessTrain, RepeatedRequestsToEndAreOne) {
  Process run(path("run.log"), endless("run"));
  await_checkpoint("run");
  const pid_t scheduler = run.living_with(" scheduler ");
  kill(scheduler, SIGSTOP);  // so that the job cannot end between the two
  run.signal(SIGTERM);
  std::this_thread::sleep_for(std::chrono::seconds(1));
  run.signal(SIGTERM);
  kill(scheduler, SIGCONT);
  ends_clean(run, 75);
}

// As in `train | tee log`, where Ctrl-C ends tee too, or `train | head`.
TEST_F(ProcessTrain, SavesACheckpointAfterItsOutputPipeCloses) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Process run(path("run.log"), endless("run"), [&] {
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
  });
  close(ends[1]);
  await_checkpoint("run");
  close(ends[0]);
  run.signal(SIGINT);
  EXPECT_EQ(run.code(), 75);
  EXPECT_TRUE(eventually([&] { return run.living().empty(); }));
  EXPECT_THAT(text_of(path("run/result.json")), HasSubstr("\"interrupted\""));
}

TEST_F(ProcessTrain, ClosedStandardStreamsDoNotCorruptItsFiles) {
  EXPECT_EQ(run(train("run", {"train.epochs=1"}),
                [] {
                  for (const int file : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(file);
                }),
            0);
  const std::string rounds = text_of(path("run/rounds.jsonl"));
  EXPECT_THAT(rounds, testing::Not(HasSubstr("parameters")));
  EXPECT_EQ(std::count(rounds.begin(), rounds.end(), '\n'), 32 + 1);
}

TEST_F(ProcessTrain, ProcessesAreNamedAfterTheirRoles) {
  Process run(path("run.log"), endless("run"));
  await_checkpoint("run");
  std::vector<std::string> names;
  for (const pid_t process : run.living())
    names.push_back(text_of("/proc/" + std::to_string(process) + "/comm"));
  EXPECT_THAT(names,
              testing::UnorderedElementsAre("steelyard:train\n", "steelyard:sched\n", "steelyard:serve\n",
                                            "steelyard:serve\n", "steelyard:work\n", "steelyard:work\n"));
  run.signal(SIGINT);
  ends_clean(run, 75);
}

TEST_F(ProcessTrain, AKilledTrainLeavesNoProcessAndCanBeResumed) {
  {
    Process run(path("first.log"), endless("run"));
    await_checkpoint("run");
    run.signal(SIGKILL);
    EXPECT_EQ(run.code(), -SIGKILL);
    EXPECT_TRUE(eventually([&] { return run.living().empty(); }));
    EXPECT_THAT(sockets(), SizeIs(1)) << "a killed process cannot clean up";
  }
  std::vector<std::string> again = train("run", {"train.epochs=0", "train.rounds=100000", "train.seconds=2"});
  again.emplace_back("--resume");
  EXPECT_EQ(run(again), 0);
  EXPECT_GT(accuracy("run"), 0.9);
  EXPECT_THAT(sockets(), IsEmpty()) << "the next run cleans up";
}

TEST_F(ProcessTrain, AKilledWorkerIsRestarted) {
  Process run(path("run.log"), train("run", {"train.epochs=0", "train.seconds=4"}));
  await_checkpoint("run");
  const pid_t worker = run.living_with("--name bob");
  ASSERT_NE(worker, 0);
  kill(worker, SIGKILL);
  ends_clean(run, 0);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("'bob' was killed by signal 9"),
                                  HasSubstr("starting 'bob' again"), HasSubstr("worker 'bob' is lost")));
  EXPECT_GT(accuracy("run"), 0.9);
}

// Meanwhile the server has the dead worker's gradients and its own versions in shared memory.
TEST_F(ProcessTrain, KilledWorkersWithSharedGradientsDoNotBlockTheJob) {
  Process run(path("run.log"), train("run", {"train.epochs=0", "train.seconds=4", "model.name=mlp"}));
  await_checkpoint("run");
  EXPECT_THAT(text_of(path("run/log/bob.log")), HasSubstr("through shared memory"));
  for (const std::string name : {"bob", "ada"}) {
    const pid_t worker = run.living_with("--name " + name);
    ASSERT_NE(worker, 0);
    kill(worker, SIGKILL);
    ASSERT_TRUE(eventually([&] { return run.says("starting '" + name + "' again"); }));
  }
  ends_clean(run, 0);
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessTrain, SocketsAndSharedMemoryGiveTheSameModel) {
  for (const std::string exchange : {"auto", "sockets"}) {
    std::vector<std::string> words = train(exchange, {"cluster.sum_order=ordered", "cluster.policy=equal"});
    words.insert(words.end(), {"--exchange", exchange});
    ASSERT_EQ(run(words), 0) << said_;
    EXPECT_THAT(text_of(path(exchange + "/log/ada.log")),
                HasSubstr(exchange == "auto" ? "through shared memory" : "through sockets"));
  }
  EXPECT_EQ(newest_checkpoint("auto").parameters, newest_checkpoint("sockets").parameters);
}

TEST_F(ProcessTrain, AllKilledWorkersAreRestarted) {
  Process run(path("run.log"), train("run", {"train.epochs=0", "train.seconds=4"}));
  await_checkpoint("run");
  for (const char* name : {"--name ada", "--name bob"}) kill(run.living_with(name), SIGKILL);
  ends_clean(run, 0);
  EXPECT_GT(accuracy("run"), 0.9);
}

TEST_F(ProcessTrain, AKilledServerEndsTheJobWithAMessage) {
  Process run(path("run.log"), endless("run"));
  await_checkpoint("run");
  kill(run.living_with("--name server-1"), SIGKILL);
  ends_clean(run, 69);
  EXPECT_THAT(run.output(), AllOf(HasSubstr("server-1"), HasSubstr("resume")));
}

// Orchestra: the policy sets the length of rounds, before a checkpoint and after it.
TEST_F(ProcessTrain, OrchestraPacesRoundsAcrossAResumption) {
  EXPECT_EQ(run(train("refused", {"cluster.sync=orchestra"})), 78);
  EXPECT_THAT(said_, AllOf(HasSubstr("policy \"lb-bsp\""), HasSubstr("choose policy = \"orchestra\"")));
  const std::vector<std::string> paced{"cluster.sync=orchestra", "cluster.policy=orchestra",
                                       "policy.orchestra.unit=0.5"};
  const auto epochs = [&](const char* count) {
    std::vector<std::string> settings = paced;
    settings.push_back(std::string("train.epochs=") + count);
    return train("run", settings);
  };
  ASSERT_EQ(run(epochs("2")), 0) << said_;
  std::vector<std::string> again = epochs("4");
  again.emplace_back("--resume");
  ASSERT_EQ(run(again), 0) << said_;
  EXPECT_THAT(said_, Not(HasSubstr("starts without saved state"))) << "the policy's state is restored";
  EXPECT_GT(accuracy("run"), 0.9);
  EXPECT_EQ(newest_checkpoint("run").progress.epoch, 4U);
  std::map<std::uint64_t, std::uint64_t> samples;  // by epoch
  std::ifstream rounds(path("run/rounds.jsonl"));
  for (std::string line; std::getline(rounds, line);) {
    const auto round = nlohmann::json::parse(line);
    if (round["purpose"] != "train") continue;
    samples[round["epoch"]] += round["end"].get<std::uint64_t>() - round["begin"].get<std::uint64_t>();
  }
  EXPECT_THAT(samples, SizeIs(4));
  for (const auto& [epoch, count] : samples) EXPECT_EQ(count, 8192U) << epoch;
}

}  // namespace
}  // namespace steelyard::process_train_test
