#include "launch/attend.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "core/error.h"
#include "launch/children.h"
#include "launch/lines.h"
#include "launch/pipes.h"
#include "report/version_text.h"
#include "roles/signals.h"
#include "wire/codec.h"

namespace steelyard {
namespace {

constexpr Duration tick = std::chrono::milliseconds(20);
constexpr Duration grace = std::chrono::seconds(10);  // for the scheduler to end the job
constexpr Duration farewell = std::chrono::seconds(5);
constexpr std::size_t longest_said = 1 << 16;  // letters of a line of a process

class Attendant {
 public:
  explicit Attendant(Duration silence)
      : silence_(silence),
        in_(Descriptor(dup(STDIN_FILENO)), longest_launch_line),
        out_(Descriptor(dup(STDOUT_FILENO))),
        heard_(steady_now()) {}

  int run(const std::atomic<bool>& told_to_end);

 private:
  struct Process {
    std::string name;
    LineReader out, error;
  };

  void hear();
  void start(const StartProcess& message);
  void pass_on();
  void bury();
  void end(Time now);
  void wait() const;
  void say(const FromHost& message) { out_.add(to_line(message)); }

  const Duration silence_;
  LineReader in_;
  LineWriter out_;
  Time heard_;
  std::vector<std::unique_ptr<Process>> processes_;
  bool ending_ = false, asked_ = false;
  Time timeout_ = Time::max();  // when whoever is left is asked, then killed
  Children children_;           // first to go
};

int Attendant::run(const std::atomic<bool>& told_to_end) {
  const std::string version = version_text();  // a line
  say(HostReady{protocol_version, version.substr(0, version.find('\n'))});
  while (true) {
    hear();
    pass_on();
    bury();
    out_.flush();
    const Time now = steady_now();
    const bool alone = in_.ended() || out_.broken() || now - heard_ > silence_;
    if (!ending_ && (told_to_end || alone)) end(now);
    if (ending_ && children_.running() == 0) return 0;
    if (now > timeout_) {
      if (asked_) return 0;  // and who is left is killed
      children_.signal_all(SIGTERM);
      asked_ = true;
      timeout_ = now + farewell;
    }
    wait();
  }
}

void Attendant::hear() {
  for (const std::string& line : in_.read()) {
    heard_ = steady_now();
    const std::optional<ToHost> message = to_host(line);
    if (!message || ending_) continue;
    if (const auto* it = std::get_if<StartProcess>(&*message)) start(*it);
    if (const auto* it = std::get_if<SignalProcess>(&*message)) children_.signal(it->name, it->signal);
  }
}

void Attendant::start(const StartProcess& message) {
  const Descriptor input = text_to_read(message.input);
  Pipe out = make_pipe(), error = make_pipe();
  children_.start(message.name, Program{.path = {},
                                        .arguments = message.arguments,
                                        .in = input.number(),
                                        .out = out.write.number(),
                                        .error = error.write.number()});
  processes_.push_back(std::make_unique<Process>(
      Process{message.name, {std::move(out.read), longest_said}, {std::move(error.read), longest_said}}));
}

void Attendant::pass_on() {
  for (const auto& it : processes_) {
    for (const std::string& line : it->error.read()) say(Said{it->name, true, line});
    for (const std::string& line : it->out.read()) say(Said{it->name, false, line});
  }
  std::erase_if(processes_, [](const auto& it) { return it->out.ended() && it->error.ended(); });
}

// What a process said last is passed on before its end is.
void Attendant::bury() {
  for (const Child& child : children_.ended()) {
    pass_on();
    say(ProcessEnded{child.name, *child.status});
  }
}

void Attendant::end(Time now) {
  ending_ = true;
  timeout_ = now + grace;
  children_.signal("scheduler", SIGTERM);
}

void Attendant::wait() const {
  std::vector<int> all{in_.descriptor()};
  for (const auto& it : processes_) all.insert(all.end(), {it->out.descriptor(), it->error.descriptor()});
  wait_readable(all, tick);
}

}  // namespace

int run_attend(const AttendCommand& command) {
  if (!command.directory.empty() && chdir(command.directory.c_str()) != 0) {
    throw Failure(ExitCode::configuration,
                  "there is no directory " + command.directory +
                      " to run in: make it, or correct directory = in the hosts file");
  }
  std::atomic<bool> told_to_end = false;
  const SignalWatch signals([&](int) { told_to_end = true; }, {});
  setenv("OMP_NUM_THREADS", "1", 1);  // one computing thread a worker, also inside oneDNN
  return Attendant(from_seconds(command.silence)).run(told_to_end);
}

}  // namespace steelyard
