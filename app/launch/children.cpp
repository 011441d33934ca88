#include "app/launch/children.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <deque>
#include <fstream>
#include <thread>

#include "app/processes/signals.h"
#include "app/report/terminal_text.h"
#include "core/error.h"
#include "core/time.h"

namespace steelyard {
namespace {

constexpr Duration after_kill = std::chrono::seconds(5);  // a killed process may still wait for a disk

// In the child, between fork and exec: nothing here may allocate or throw.
[[noreturn]] void become(pid_t parent, const Program& program, const cpu_set_t& cores, char* const* arguments,
                         char* const* environment) {
  setpgid(0, 0);  // Ctrl-C goes to the parent only
  if (!program.exits_with_input) prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) _exit(1);  // the parent exited before prctl()
  // This program installs signal handlers early on; signals that arrive before that must stay pending.
  sigset_t blocked = watched_signals();
  if (!program.path.empty()) sigemptyset(&blocked);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
  if (program.out >= 0) dup2(program.out, STDOUT_FILENO);
  if (program.error >= 0) dup2(program.error, STDERR_FILENO);
  const int in = program.in >= 0 ? program.in : open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (in >= 0) dup2(in, STDIN_FILENO);
  for (const int file : program.keep) {
    if (file >= 0) fcntl(file, F_SETFD, 0);
  }
  if (!program.path.empty()) signal(SIGPIPE, SIG_DFL);
  if (CPU_COUNT(&cores) > 0) sched_setaffinity(0, sizeof cores, &cores);  // else it runs wherever it can
  execvpe(program.path.empty() ? "/proc/self/exe" : program.path.c_str(), arguments, environment);
  _exit(127);
}

// The pointers that exec takes. The texts must outlive them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> raw;
  for (std::string& text : texts) raw.push_back(text.data());
  raw.push_back(nullptr);
  return raw;
}

std::vector<std::string> environment_with(const std::vector<std::string>& own) {
  std::vector<std::string> all = own;
  for (char** it = environ; *it != nullptr; ++it) {
    const std::string text = *it, name = text.substr(0, text.find('=') + 1);
    const auto same = [&](const std::string& other) { return other.starts_with(name); };
    if (std::ranges::none_of(own, same)) all.push_back(text);
  }
  return all;
}

}  // namespace

void Children::start(const std::string& name, const Program& program) {
  std::vector<std::string> owned{program.path.empty() ? "steelyard" : program.path};
  owned.insert(owned.end(), program.arguments.begin(), program.arguments.end());
  const std::vector<char*> arguments = pointers_to(owned);
  std::vector<std::string> all = environment_with(program.environment);
  const std::vector<char*> environment = pointers_to(all);
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const unsigned core : program.cores) CPU_SET(core, &cores);
  const pid_t parent = getpid();
  const pid_t process = fork();
  if (process == 0) become(parent, program, cores, arguments.data(), environment.data());
  if (process < 0)
    throw Failure(ExitCode::io, std::string("cannot start a process: ") + std::strerror(errno));
  setpgid(process, process);  // in parent and child: either may run first
  children_.push_back({name, process, std::nullopt});
}

Children::~Children() {
  signal_all(SIGKILL);
  for (const Time end = steady_now() + after_kill; running() > 0 && steady_now() < end;) {
    if (ended().empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

std::vector<Child> Children::ended() {
  std::vector<Child> news;
  for (Child& child : children_) {
    int status = 0;
    if (child.status || waitpid(child.process, &status, WNOHANG) != child.process) continue;
    child.status = status;
    news.push_back(child);
  }
  return news;
}

void Children::signal(const std::string& name, int signal) {
  for (const Child& child : children_) {
    if (child.name == name && !child.status) kill(-child.process, signal);
  }
}

void Children::signal_all(int signal) {
  for (const Child& child : children_) {
    if (!child.status) kill(-child.process, signal);
  }
}

std::size_t Children::running() const {
  return static_cast<std::size_t>(std::ranges::count_if(children_, [](const Child& c) { return !c.status; }));
}

std::string describe_status(int status) {
  if (WIFSIGNALED(status)) {
    return "was killed by signal " + std::to_string(WTERMSIG(status)) + " (" + strsignal(WTERMSIG(status)) +
           ")";
  }
  return "exited with code " + std::to_string(WEXITSTATUS(status));
}

std::string last_lines(const std::string& path, std::size_t count) {
  std::ifstream file(path);
  std::deque<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back("  " + shown_line(line) + "\n");
    if (lines.size() > count) lines.pop_front();
  }
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace steelyard
