// Runs the program in real processes, as users do, and leaves none of them behind.
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

inline constexpr std::chrono::seconds timeout{60};  // far longer than any step takes

// Polls until `is_so` returns true or the limit is over. Returns the last result.
bool eventually(const std::function<bool()>& is_so, std::chrono::milliseconds limit = timeout);

std::string text_of(const std::filesystem::path& file);  // empty if the file does not exist

std::string free_port();  // an unused port of this machine

// A run of the program, with all processes that it starts. Output and errors go to one file.
class Process {
 public:
  // `before` is called in the child before exec; it may be empty. The program is in the test's directory.
  Process(const std::filesystem::path& log, const std::vector<std::string>& arguments,
          const std::function<void()>& before = {}, const std::string& program = "steelyard");
  ~Process();  // kills the remaining processes
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  [[nodiscard]] std::string output() const { return text_of(log_); }
  [[nodiscard]] bool says(const std::string& text) const { return output().find(text) != std::string::npos; }
  void signal(int signal) const;  // only to the first process

  // The exit code, or minus the signal that killed it; std::nullopt after the timeout.
  std::optional<int> code();

  // The live processes of this run, found by a mark in their environment, with any parent.
  [[nodiscard]] std::vector<pid_t> living() const;
  // The live process with these words in its command line, or 0.
  [[nodiscard]] pid_t living_with(const std::string& words) const;

 private:
  std::filesystem::path log_;
  std::string mark_;
  pid_t process_ = 0;
  std::optional<int> code_;
};

// Each test has its own directory with a job file. Skipped under ThreadSanitizer, since libzmq is not
// instrumented.
class ProcessTest : public testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  // Runs `steelyard arguments...`, which must leave no process and not crash. Returns its exit code; said_
  // has the output.
  int run(const std::vector<std::string>& arguments, const std::function<void()>& before = {});
  void ends_clean(Process& run, int code);

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const;
  // Arguments for a training of a few seconds; `settings` override keys of the job file.
  [[nodiscard]] std::vector<std::string> train(const std::string& run_dir,
                                               const std::vector<std::string>& settings = {}) const;
  // Kills the run's scheduler. Returns whether a new one is started.
  static bool restart_scheduler(const Process& run);
  [[nodiscard]] double accuracy(const std::string& run_dir) const;
  [[nodiscard]] Snapshot newest_checkpoint(const std::string& run_dir) const;

  const TemporaryFolder folder_;
  const std::filesystem::path directory_ = folder_.path();
  std::string job_;
  std::string said_;
};

}  // namespace steelyard
