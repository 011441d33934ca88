// With background = true a worker computes on threads of the scheduling policy SCHED_IDLE.
#include <gmock/gmock.h>
#include <sched.h>

#include <filesystem>
#include <thread>

#include "tests/support/process_run.h"

namespace steelyard::process_polite_test {
namespace {

class ProcessPolite : public ProcessTest {
 protected:
  // Trains with one worker; returns whether the worker has a SCHED_IDLE thread.
  bool has_idle_thread(const std::string& name, bool background) {
    const std::string job = R"([model]
name = "softmax"
[data]
name = "synthetic"
[train]
epochs = 1000000
evaluate_every = 0
checkpoint_every = 0
[cluster]
servers = 1
[[worker]]
name = "ada"
background = )" + std::string(background ? "true" : "false") +
                            "\n";
    Process run(path(name + ".log"), {"train", write(name + ".toml", job), "--run-dir", path(name)});
    EXPECT_TRUE(eventually([&] { return !text_of(path(name + "/rounds.jsonl")).empty(); })) << run.output();
    const std::string tasks = "/proc/" + std::to_string(run.living_with("--name ada")) + "/task";
    bool idle = false;
    for (const auto& thread : std::filesystem::directory_iterator(tasks))
      idle |= sched_getscheduler(std::stoi(thread.path().filename().string())) == SCHED_IDLE;
    run.signal(SIGINT);
    ends_clean(run, 75);
    return idle;
  }
};

// Some containers forbid SCHED_IDLE, which needs no privileges elsewhere.
bool may_be_idle() {
  bool may = false;
  std::thread([&] {
    const sched_param none{};
    may = sched_setscheduler(0, SCHED_IDLE, &none) == 0;
  }).join();
  return may;
}

TEST_F(ProcessPolite, BackgroundWorkersComputeOnIdleThreads) {
  if (!may_be_idle()) GTEST_SKIP() << "this system does not allow SCHED_IDLE";
  EXPECT_TRUE(has_idle_thread("polite", true));
  EXPECT_FALSE(has_idle_thread("plain", false));
}

}  // namespace
}  // namespace steelyard::process_polite_test
