// Real processes for tests: the program as a person runs it, and nothing of it left behind.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "server/checkpoint/checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace steelyard {

inline constexpr std::chrono::seconds timeout{30};  // far more than anything here takes

// Asks until it is so, or the timeout is over; whether it is.
bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds limit = timeout);

std::string text_of(const std::filesystem::path& file);  // empty if there is none

std::string free_port();  // of this machine; nobody uses it now

// A run of the program, with all that it starts. Output and errors go to one file.
class Process {
 public:
  // `before` is called in the child before the program is; it may be empty. The program lies beside the test.
  Process(const std::filesystem::path& log, const std::vector<std::string>& arguments,
          const std::function<void()>& before = {}, const std::string& program = "steelyard");
  ~Process();  // kills what is left
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::string output() const { return text_of(log_); }
  [[nodiscard]] bool says(const std::string& text) const { return output().find(text) != std::string::npos; }
  void signal(int signal) const;  // to the process itself

  // Its exit code, or minus the signal that ended it; nothing if it does not end.
  std::optional<int> code();

  // The processes of this run that live, whoever is their parent now: the environment tells.
  [[nodiscard]] std::vector<pid_t> living() const;
  // The one that was started with these words in its command line; 0 if there is none.
  [[nodiscard]] pid_t living_with(const std::string& words) const;

 private:
  std::filesystem::path log_;
  std::string mark_;
  pid_t process_ = 0;
  std::optional<int> code_;
};

// A directory of its own for each test, with a job file in it. Where the thread sanitizer watches, such tests
// skip themselves: libzmq is not instrumented.
class ProcessTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // The code of `steelyard arguments...`, which must leave no process and look like no crash. Its output is
  // in said_.
  int run(const std::vector<std::string>& arguments, const std::function<void()>& before = {});
  void ends_clean(Process& run, int code);

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const;
  // Some seconds of training; the lines replace or add to it.
  [[nodiscard]] std::vector<std::string> train(const std::string& run_dir,
                                               const std::vector<std::string>& settings = {}) const;
  // Kills the run's scheduler; whether another one comes.
  static bool restart_scheduler(const Process& run);
  [[nodiscard]] double accuracy(const std::string& run_dir) const;
  [[nodiscard]] Snapshot newest_checkpoint(const std::string& run_dir) const;

  const TemporaryFolder folder_;
  const std::filesystem::path directory_ = folder_.path();
  std::string job_;
  std::string said_;
};

}  // namespace steelyard
