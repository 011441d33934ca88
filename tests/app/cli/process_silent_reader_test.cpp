// Standard error of a process is a full pipe that is not read, as with a stopped terminal or a log collector
// that hangs. The process and its job continue, and the process exits on time. Real processes with keys, over
// TCP.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <memory>

#include "tests/support/process_run.h"
#include "transport/security/key_files.h"

namespace steelyard::process_silent_reader_test {
namespace {

using testing::HasSubstr;

class FullPipe {
 public:
  FullPipe() {
    EXPECT_EQ(pipe2(ends_.data(), O_CLOEXEC), 0);
    EXPECT_GT(fcntl(ends_[1], F_SETPIPE_SZ, 4096), 0);
    fcntl(ends_[1], F_SETFL, O_NONBLOCK);
    const std::array<char, 4096> letters{};
    while (write(ends_[1], letters.data(), letters.size()) > 0) continue;
    fcntl(ends_[1], F_SETFL, 0);  // so that a writer blocks
  }
  ~FullPipe() {
    for (const int end : ends_) close(end);
  }
  FullPipe(const FullPipe&) = delete;
  FullPipe& operator=(const FullPipe&) = delete;
  void become_standard_error() const { dup2(ends_[1], STDERR_FILENO); }

 private:
  std::array<int, 2> ends_{-1, -1};
};

// The parameter is the role that writes to the full pipe.
class ProcessSilentReader : public ProcessTest, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    for (const char* role : {"scheduler", "server", "worker"})
      ASSERT_EQ(run({"keys", "new", path("keys"), role}), 0) << said_;
    ASSERT_EQ(run({"keys", "new", path("strange"), "worker"}), 0);
    const std::string hub = load_keys(path("keys"), KeyRole::scheduler, "").own.public_key;
    ASSERT_EQ(run({"keys", "add", path("strange"), "scheduler", "hub", hub}), 0);
    while (there_ == here_) there_ = "127.0.0.1:" + free_port();
  }
  std::unique_ptr<Process> start(const std::string& name, std::vector<std::string> words,
                                 const std::string& keys = "keys") {
    words.insert(words.end(), {"--keys", path(keys)});
    const bool silent = words.front() == GetParam();
    return std::make_unique<Process>(path(name + ".log"), words, [this, silent] {
      if (silent) pipe_.become_standard_error();
    });
  }

  const FullPipe pipe_;
  const std::string here_ = "127.0.0.1:" + free_port();
  std::string there_ = here_;
};

TEST_P(ProcessSilentReader, DoesNotBlockTheJob) {
  const std::string both = here_ + "," + there_;
  const auto scheduler = start("scheduler", {"scheduler", job_, "--listen", here_, "--run-dir", path("run"),
                                             "--set", "train.epochs=60"});
  if (std::string(GetParam()) != "worker") {
    const auto stranger = start("stranger", {"worker", "--scheduler", here_, "--name", "eve"}, "strange");
    ends_clean(*stranger, 78);  // so that the scheduler logs something
  }
  const auto standby =
      start("standby", {"standby", "--scheduler", here_, "--listen", there_, "--run-dir", path("standby")});
  std::vector<std::unique_ptr<Process>> others;
  for (const char* name : {"s0", "s1"})
    others.push_back(start(name, {"server", "--scheduler", both, "--name", name}));
  for (const char* name : {"ada", "bob"})
    others.push_back(start(name, {"worker", "--scheduler", both, "--name", name}));
  ASSERT_TRUE(eventually([&] { return text_of(path("run/rounds.jsonl")).size() > 4000; }));
  ASSERT_TRUE(eventually(
      [&] { return text_of(path("run/events.jsonl")).find("a standby follows") != std::string::npos; }));
  if (std::string(GetParam()) == "standby") {
    scheduler->signal(SIGKILL);
    EXPECT_EQ(scheduler->code(), -SIGKILL);
  } else {
    ends_clean(*scheduler, 0);
  }
  ends_clean(*standby, 0);
  for (const auto& other : others) ends_clean(*other, 0);
  EXPECT_GT(accuracy(std::string(GetParam()) == "standby" ? "standby" : "run"), 0.9);
}

INSTANTIATE_TEST_SUITE_P(Roles, ProcessSilentReader,
                         testing::Values("scheduler", "server", "worker", "standby"),
                         [](const auto& role) { return std::string(role.param); });

}  // namespace
}  // namespace steelyard::process_silent_reader_test
