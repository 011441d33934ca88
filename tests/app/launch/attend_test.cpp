// `attend` as a process, with a launcher that is a test: two pipes.
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
    say_ = std::make_unique<LineWriter>(std::move(in.write));
    hear_ = std::make_unique<LineReader>(std::move(out.read), longest_launch_line);
  }
  void say(const ToHost& message) { say_->add(to_line(message)); }
  // Waits for a message of this kind; others before it are passed over.
  template <class Kind>
  std::optional<Kind> hear() {
    std::optional<Kind> found;
    eventually([&] {
      for (std::string& line : hear_->read()) waiting_.push_back(std::move(line));
      while (!found && !waiting_.empty()) {
        const std::optional<FromHost> message = from_host(waiting_.front());
        const Kind* it = message ? std::get_if<Kind>(&*message) : nullptr;
        if (it != nullptr) found = *it;
        heard_ += waiting_.front() + "\n";
        waiting_.pop_front();
      }
      return found.has_value() || hear_->ended();
    });
    return found;
  }
  // A process that stays until it is told otherwise.
  void start_scheduler() {
    say(StartProcess{
        "scheduler",
        {"scheduler", "/dev/stdin", "--listen", "ipc://" + path("socket"), "--run-dir", path("run")},
        text_of(job_)});
    ASSERT_TRUE(hear<Said>());
  }

  std::unique_ptr<Process> process_;
  std::unique_ptr<LineWriter> say_;
  std::unique_ptr<LineReader> hear_;
  std::deque<std::string> waiting_;
  std::string heard_;
  sighandler_t before_ = SIG_ERR;
};

TEST_F(LaunchAttend, SaysWhoItIsAndWhatItsProcessesSay) {
  attend();
  const auto ready = hear<HostReady>();
  ASSERT_TRUE(ready);
  EXPECT_EQ(ready->protocol, protocol_version);
  EXPECT_EQ(ready->release.find('\n'), std::string::npos);
  say(StartProcess{"asks", {"--version"}, ""});
  const auto said = hear<Said>();
  ASSERT_TRUE(said);
  EXPECT_EQ(said->name, "asks");
  EXPECT_FALSE(said->error);
  EXPECT_THAT(said->text, HasSubstr("protocol"));
  const auto ended = hear<ProcessEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->name, "asks");
  EXPECT_EQ(ended->status, 0);
  say_->close();
  ends_clean(*process_, 0);
}

TEST_F(LaunchAttend, TheJobComesOverTheConnection) {
  attend();
  start_scheduler();
  EXPECT_THAT(heard_, HasSubstr("job 'small'"));
  say(SignalProcess{"scheduler", SIGTERM});
  const auto ended = hear<ProcessEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 75 << 8);
  say_->close();
  ends_clean(*process_, 0);
}

// However early the request comes, it is a request.
TEST_F(LaunchAttend, WhoHasHardlyBegunEndsInGoodOrder) {
  attend();
  say(StartProcess{
      "scheduler",
      {"scheduler", "/dev/stdin", "--listen", "ipc://" + path("socket"), "--run-dir", path("run")},
      text_of(job_)});
  say(SignalProcess{"scheduler", SIGTERM});
  const auto ended = hear<ProcessEnded>();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->status, 75 << 8);
  say_->close();
  ends_clean(*process_, 0);
}

TEST_F(LaunchAttend, TheEndOfTheConnectionIsTheEnd) {
  attend();
  start_scheduler();
  say_->close();
  ends_clean(*process_, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/result.json"))) << "the scheduler ended in good order";
}

TEST_F(LaunchAttend, ALauncherThatIsSilentIsGone) {
  attend({"--silence", "0.5"});
  start_scheduler();
  ends_clean(*process_, 0);
  EXPECT_TRUE(std::filesystem::exists(path("run/result.json")));
}

TEST_F(LaunchAttend, KilledItTakesItsProcessesAlong) {
  attend();
  start_scheduler();
  process_->signal(SIGKILL);
  EXPECT_EQ(process_->code(), -SIGKILL);
  EXPECT_TRUE(eventually([&] { return process_->living().empty(); }));
}

TEST_F(LaunchAttend, StrangeWordsArePassedOver) {
  attend();
  ASSERT_TRUE(hear<HostReady>());
  say_->add("hello?");
  say_->add("{\"start\":3}");
  say(SignalProcess{"nobody", SIGTERM});
  say(StartProcess{"asks", {"--version"}, ""});
  ASSERT_TRUE(hear<Said>());
  say_->close();
  ends_clean(*process_, 0);
}

TEST_F(LaunchAttend, ADirectoryThatIsNotThereIsNamed) {
  attend({"--directory", path("nowhere")});
  ends_clean(*process_, 78);
  EXPECT_THAT(process_->output(), HasSubstr("there is no directory " + path("nowhere")));
}

}  // namespace
}  // namespace steelyard::attend_test
