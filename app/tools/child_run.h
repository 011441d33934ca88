// Runs this program as a child process, like a user on the command line.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace steelyard {

struct ChildEnd {
  int status = 0;                  // from wait()
  std::string complaint;           // its error message; empty if it printed none
  [[nodiscard]] int code() const;  // its exit code; -1 if a signal killed it
};

// Runs `steelyard WORDS...`; output of it and its processes goes to the file `log`. When `interrupted`
// becomes true, sends it SIGINT, like Ctrl-C, and waits for it. The kernel stops it if this process exits.
// Throws Failure.
ChildEnd run_child(const std::vector<std::string>& words, const std::string& log,
                   const std::atomic<bool>& interrupted);

// The reason why the job ended, from the messages of `train` in its log; empty if it printed none.
std::string complaint_in(const std::string& log);

}  // namespace steelyard
