// `attend` as a process. The test is its launcher, over two pipes.
#include "app/launch/launch.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <csignal>
#include <deque>

#include "app/launch/pipes.h"
#include "protocol/codec.h"
#include "tests/support/process_run.h"

namespace steelyard::attend_test {
namespace {

using testing::HasSubstr;

class LaunchAttend : public ProcessTest {
 protected:
  void SetUp() override {
    ProcessTest::SetUp();
    if (IsSkipped()) return;
    before_ = std::signal(SIGPIPE, SIG_IGN);
  }
  void TearDown() override {
    if (before_ != SIG_ERR) std::signal(SIGPIPE, before_);
    ProcessTest::TearDown();
  }

  void attend(std::vector<std::string> arguments = {}) {
    arguments.insert(arguments.begin(), "attend");
    Pipe in = make_pipe(), out = make_pipe();
    process_ = std::make_unique<Process>(path("attend.log"), arguments, [&] {
      dup2(in.read.get(), STDIN_FILENO);
      dup2(out.write.get(), STDOUT_FILENO);
    });
    writer_ = std::make_unique<LineWriter>(std::move(in.write));
    reader_ = std::make_unique<LineReader>(std::move(out.read), longest_launch_line);
  }
  void send(const ToHost& message) { writer_->add(to_line(message)); }
  // Waits for a message of this kind, and skips others before it.
  template <class Kind>
  std::optional<Kind> receive() {
    std::optional<Kind> found;
    eventually([&] {
      for (std::string& line : reader_->read()) waiting_.push_back(std::move(line));
      while (!found && !waiting_.empty()) {
        const std::optional<FromHost> message = from_host(waiting_.front());
        const Kind* it = message ? std::get_if<Kind>(&*message) : nullptr;
        if (it != nullptr) found = *it;
        received_ += waiting_.front() + "\n";
        waiting_.pop_front();
      }
      return found.has_value() || reader_->ended();
    });
    return found;
  }
  // A process that runs until it is signalled.
  void start_scheduler() {
    send(StartProcess{
        "scheduler",
        {"scheduler", "/dev/stdin", "--listen", "ipc://" + path("socket"), "--run-dir", path("run")},
        text_of(job_)});
    ASSERT_TRUE(receive<Said>());
  }

  std::unique_ptr<Process> process_;
  std::unique_ptr<LineWriter> writer_;
  std::unique_ptr<LineReader> reader_;
  std::deque<std::string> waiting_;
  std::string received_;
  sighandler_t before_ = SIG_ERR;
};

TEST_F(LaunchAttend, ReportsItsReleaseAndTheOutputOfItsProcesses) {
  attend();
  const auto ready = receive<HostReady>();
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->protocol, protocol_version);
  EXPECT_EQ(ready->release.find('\n'), std::string::npos);
  send(StartProcess{"asks", {"--version"}, ""});
  const auto said = receive<Said>();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->name, "asks");
  EXPECT_FALSE(said->error);
  EXPECT_THAT(said->text, HasSubstr("protocol"));
  const auto ended = receive<ProcessEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->name, "asks");
  EXPECT_EQ(ended->status, 0);
  writer_->close();
  ends_clean(*process_, 0);
}

TEST_F(LaunchAttend, TheJobIsSentOverTheConnection) {
  attend();
  start_scheduler();
  EXPECT_THAT(received_, HasSubstr("job 'small'"));
  send(SignalProcess{"scheduler", SIGTERM});
  const auto ended = receive<ProcessEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 75 << 8);
  writer_->close();
  ends_clean(*process_, 0);
}

// A request to stop counts even if it arrives right after the start.
TEST_F(LaunchAttend, AProcessStoppedAtItsStartExitsCleanly) {
  attend();
  send(StartProcess{
      "scheduler",
      {"scheduler", "/dev/stdin", "--listen", "ipc://" + path("socket"), "--run-dir", path("run")},
      text_of(job_)});
  send(SignalProcess{"scheduler", SIGTERM});
  const auto ended = receive<ProcessEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 75 << 8);
  writer_->close();
  ends_clean(*process_, 0);
}

TEST_F(LaunchAttend, AClosedConnectionEndsItsProcesses) {
  attend();
  start_scheduler();
  writer_->close();
  ends_clean(*process_, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/result.json"))) << "the scheduler exited cleanly";
}

TEST_F(LaunchAttend, WithoutGraceItsProcessesAreKilledAtOnce) {
  attend({"--grace", "0"});
  start_scheduler();
  writer_->close();
  ends_clean(*process_, 0);
  EXPECT_FALSE(std::filesystem::exists(path("run/result.json"))) << "the scheduler exited cleanly";
}

TEST_F(LaunchAttend, ASilentLauncherCountsAsLost) {
  attend({"--silence", "0.5"});
  start_scheduler();
  ends_clean(*process_, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/result.json")));
}

TEST_F(LaunchAttend, AKilledAttendEndsItsProcesses) {
  attend();
  start_scheduler();
  process_->signal(SIGKILL);
  EXPECT_EQ(process_->code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return process_->living().empty(); }));
}

TEST_F(LaunchAttend, UnknownLinesAreIgnored) {
  attend();
  ASSERT_TRUE(receive<HostReady>());
  writer_->add("hello?");
  writer_->add("{\"start\":3}");
  send(SignalProcess{"missing", SIGTERM});
  send(StartProcess{"asks", {"--version"}, ""});
  ASSERT_TRUE(receive<Said>());
  writer_->close();
  ends_clean(*process_, 0);
}

TEST_F(LaunchAttend, AMissingDirectoryIsReported) {
  attend({"--directory", path("nowhere")});
  ends_clean(*process_, 78);
  EXPECT_THAT(process_->output(), HasSubstr("there is no directory " + path("nowhere")));
}

}  // namespace
}  // namespace steelyard::attend_test
