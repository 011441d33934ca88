// A run of this program as a child process, as a person would start it.
#pragma once

#include <atomic>
#include <string>
#include <vector>

namespace steelyard {

struct ChildEnd {
  int status = 0;                  // as wait() gives it
  std::string complaint;           // why it ended, of what it said in its own name; empty if it did not say
  [[nodiscard]] int code() const;  // its exit code; -1 if a signal ended it
};

// `steelyard WORDS...`; what it and its processes say goes to the file `log`. When `interrupted` becomes true
// it is told to end, as by Ctrl-C, and waited for; the kernel ends it if this process dies. Throws Failure.
ChildEnd run_child(const std::vector<std::string>& words, const std::string& log,
                   const std::atomic<bool>& interrupted);

// Why the job ended, of what `train` said in its own name; empty if it did not say.
std::string complaint_in(const std::string& log);

}  // namespace steelyard
