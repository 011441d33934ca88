#include "tests/support/process_run.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>
#include <thread>

#include "tests/support/thread_sanitizer.h"

namespace steelyard {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest = 4000;  // most characters of a log shown after a failure

constexpr const char* job_text = R"([job]
name = "small"
[model]
name = "softmax"
[data]
name = "synthetic"
train = 8192
test = 1024
[train]
batch = 256
epochs = 4
optimizer = "sgd"
lr = 0.1
[cluster]
servers = 2
policy = "lb-bsp"
[[worker]]
name = "ada"
[[worker]]
name = "bob"
simulate_slowdown = 2
)";

// All binaries of a build are in one directory.
std::string place_of(const std::string& program) {
  return (fs::read_symlink("/proc/self/exe").parent_path() / program).string();
}

std::string new_mark() {
  static int runs = 0;
  return "STEELYARD_TEST_RUN=" + std::to_string(getpid()) + "-" + std::to_string(++runs);
}

bool is_zombie(pid_t process) {
  const std::string status = text_of("/proc/" + std::to_string(process) + "/stat");
  const std::size_t end = status.rfind(')');
  return end == std::string::npos || status.substr(end + 2, 1) == "Z";
}

}  // namespace

bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

Process::Process(const fs::path& log, const std::vector<std::string>& arguments,
                 const std::function<void()>& before, const std::string& program)
    : log_(log), mark_(new_mark()) {
  const std::string binary = place_of(program);
  std::vector<std::string> owned{binary};
  owned.insert(owned.end(), arguments.begin(), arguments.end());
  std::vector<char*> raw;
  for (std::string& argument : owned) raw.push_back(argument.data());
  raw.push_back(nullptr);
  // A killed process leaves its temporary files, so they are placed where the test deletes them.
  std::string place = "TMPDIR=" + log.parent_path().string();
  std::vector<char*> environment{mark_.data(), place.data()};
  for (char** it = environ; *it != nullptr; ++it) {
    if (!std::string_view(*it).starts_with("TMPDIR=")) environment.push_back(*it);
  }
  environment.push_back(nullptr);
  process_ = fork();
  if (process_ != 0) return;
  setpgid(0, 0);
  const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(out, STDERR_FILENO);
  dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
  if (before) before();
  execve(binary.c_str(), raw.data(), environment.data());
  _exit(127);
}

Process::~Process() {
  for (const pid_t process : living()) kill(process, SIGKILL);
  if (!code_) waitpid(process_, nullptr, 0);
}

void Process::signal(int signal) const { kill(process_, signal); }

std::optional<int> Process::code() {
  eventually([&] {
    int status = 0;
    if (!code_ && waitpid(process_, &status, WNOHANG) == process_) {
      code_ = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }
    return code_.has_value();
  });
  return code_;
}

std::vector<pid_t> Process::living() const {
  std::vector<pid_t> found;
  std::error_code gone;
  for (const auto& entry : fs::directory_iterator("/proc", gone)) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string environment = text_of(entry.path() / "environ") + '\0';
    const auto process = static_cast<pid_t>(std::stol(name));
    if (environment.find(mark_ + '\0') != std::string::npos && !is_zombie(process)) found.push_back(process);
  }
  return found;
}

pid_t Process::living_with(const std::string& words) const {
  for (const pid_t process : living()) {
    std::string line = text_of("/proc/" + std::to_string(process) + "/cmdline");
    for (char& c : line) c = c == '\0' ? ' ' : c;
    if (line.find(words) != std::string::npos) return process;
  }
  return 0;
}

std::string free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  bind(listener, reinterpret_cast<sockaddr*>(&address), size);
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  close(listener);
  return std::to_string(ntohs(address.sin_port));
}

void ProcessTest::SetUp() {
  if (!test::can_use_zmq()) GTEST_SKIP() << "libzmq is not instrumented for ThreadSanitizer";
  job_ = write("job.toml", job_text);
}

void ProcessTest::TearDown() {
  if (!HasFailure()) return;
  for (const auto& entry : fs::recursive_directory_iterator(directory_)) {
    if (entry.path().extension() != ".log") continue;
    const std::string text = text_of(entry.path());
    std::printf("---- %s\n%s\n", entry.path().c_str(),
                text.substr(text.size() - std::min(text.size(), longest)).c_str());
  }
}

void ProcessTest::ends_clean(Process& run, int code) {
  EXPECT_EQ(run.code(), code);
  EXPECT_TRUE(eventually([&] { return run.living().empty(); })) << "processes were not terminated";
  for (const char* crash : {"terminate called", "core dumped", "Segmentation", "what():", "internal error",
                            "signal 6", "signal 11", "#0 "}) {
    EXPECT_THAT(run.output(), testing::Not(testing::HasSubstr(crash)));
  }
}

int ProcessTest::run(const std::vector<std::string>& arguments, const std::function<void()>& before) {
  Process run(directory_ / "run.log", arguments, before);
  const int code = run.code().value_or(-1);
  ends_clean(run, code);
  said_ = run.output();
  return code;
}

Snapshot ProcessTest::newest_checkpoint(const std::string& run_dir) const {
  return read_checkpoint(list_checkpoints(path(run_dir + "/checkpoints")).at(0));
}

std::string ProcessTest::write(const std::string& name, const std::string& text) const {
  std::ofstream(directory_ / name, std::ios::binary) << text;
  return path(name);
}

std::vector<std::string> ProcessTest::train(const std::string& run_dir,
                                            const std::vector<std::string>& settings) const {
  std::vector<std::string> arguments{"train", job_, "--run-dir", path(run_dir)};
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  return arguments;
}

bool ProcessTest::restart_scheduler(const Process& run) {
  const pid_t scheduler = run.living_with(" scheduler ");
  kill(scheduler, SIGKILL);
  return eventually([&] {
    const pid_t next = run.living_with(" scheduler ");
    return next != 0 && next != scheduler;
  });
}

double ProcessTest::accuracy(const std::string& run_dir) const {
  const auto result = nlohmann::json::parse(text_of(path(run_dir + "/result.json")), nullptr, false);
  return result.is_object() && result["accuracy"].is_number() ? result["accuracy"].get<double>() : -1;
}

}  // namespace steelyard
