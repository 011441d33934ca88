// Where a run writes: a terminal that is not read, and a run directory that is in use.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "tests/support/process_run.h"

namespace steelyard::process_place_test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class ProcessPlace : public ProcessTest {
 protected:
  [[nodiscard]] std::vector<std::string> endless(const std::string& run_dir, bool resume = false) const {
    std::vector<std::string> arguments = train(run_dir, {"train.epochs=1000000"});
    if (resume) arguments.emplace_back("--resume");
    return arguments;
  }
  void await_checkpoint() const {
    ASSERT_TRUE(eventually([&] { return !list_checkpoints(path("run/checkpoints")).empty(); }));
  }
};

// Standard error is a full pipe, as after Ctrl-S or if ssh has stalled.
TEST_F(ProcessPlace, AnUnreadTerminalDoesNotBlockTheRun) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
  const std::string much(1 << 16, '.');
  while (::write(ends[1], much.data(), much.size()) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  {
    Process run(path("run.log"), train("run"), [&] { dup2(ends[1], STDERR_FILENO); });
    close(ends[1]);
    EXPECT_TRUE(
        eventually([&] { return text_of(path("run/result.json")).find("finished") != std::string::npos; }));
    EXPECT_GT(accuracy("run"), 0.9);
    const std::string rounds = text_of(path("run/rounds.jsonl"));
    EXPECT_EQ(std::count(rounds.begin(), rounds.end(), '\n'), 4 * 32 + 4) << "no record is lost";

    // As after Ctrl-Q.
    fcntl(ends[0], F_SETFL, 0);
    std::string shown;
    std::array<char, 4096> part{};
    for (ssize_t got = 0; (got = read(ends[0], part.data(), part.size())) > 0;)
      shown.append(part.data(), static_cast<std::size_t>(got));
    ends_clean(run, 0);
    EXPECT_THAT(shown, AllOf(HasSubstr("worker 'ada' joined"), HasSubstr("checkpoint of round 128")));
    EXPECT_TRUE(run.says("test accuracy"));
  }
  close(ends[0]);
}

TEST_F(ProcessPlace, ARunThatIsTrainingCannotBeResumed) {
  Process first(path("first.log"), endless("run"));
  await_checkpoint();
  const std::string job = text_of(path("run/job.toml"));
  std::vector<std::string> again = endless("run", true);
  again.insert(again.end(), {"--set", "train.lr=0.2"});
  EXPECT_EQ(run(again), 74);
  EXPECT_THAT(said_,
              AllOf(HasSubstr("run directory " + path("run")),
                    HasSubstr("process " + std::to_string(first.living_with(" scheduler ")) + " is training"),
                    HasSubstr("give --run-dir another name")));
  EXPECT_EQ(text_of(path("run/job.toml")), job);
  first.signal(SIGINT);
  ends_clean(first, 75);
  EXPECT_THAT(first.output(), testing::Not(HasSubstr("lost")));
}

// The lock is held while either process lives (tests/app/processes/run_lock_test.cpp), so also by a scheduler
// that still saves after `train` was killed.
TEST_F(ProcessPlace, OnlyTrainAndItsSchedulerHoldTheLock) {
  Process first(path("first.log"), endless("run"));
  await_checkpoint();
  const auto holds = [&](pid_t process) {
    std::error_code gone;
    for (const auto& entry :
         std::filesystem::directory_iterator("/proc/" + std::to_string(process) + "/fd", gone)) {
      if (std::filesystem::read_symlink(entry.path(), gone) == path("run/lock")) return true;
    }
    return false;
  };
  EXPECT_TRUE(holds(first.living_with(" scheduler ")));
  EXPECT_TRUE(holds(first.living_with(" train ")));
  EXPECT_FALSE(holds(first.living_with("--name server-0")));
  EXPECT_FALSE(holds(first.living_with("--name ada")));
  first.signal(SIGKILL);
  EXPECT_EQ(first.code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return first.living().empty(); }));
  std::vector<std::string> again = train("run", {"train.epochs=0", "train.rounds=100000", "train.seconds=1"});
  again.emplace_back("--resume");
  EXPECT_EQ(run(again), 0);
}

}  // namespace
}  // namespace steelyard::process_place_test
