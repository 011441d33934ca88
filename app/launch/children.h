// Processes that belong to this one: started, watched, and never left behind. If this process dies, however
// it dies, the kernel ends them. Each leads a group: signals reach what it has started, too.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace steelyard {

struct Child {
  std::string name;
  pid_t process = 0;
  std::optional<int> status;  // as wait() gives it; nothing while it runs
};

struct Program {
  std::string path;                        // or a name that is looked up in PATH; empty: this very program
  std::vector<std::string> arguments;      // behind its own name
  std::vector<std::string> environment{};  // NAME=value, in the place of ours of that name
  int in = -1, out = -1, error = -1;  // what it gets as 0, 1 and 2; -1: nothing to read, and where ours goes
  int keep = -1;                      // a descriptor that it has too, under the same number
};

class Children {
 public:
  Children() = default;
  ~Children();  // ends whoever still runs, at once
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Runs a program; one that cannot be run ends with the code 127. Descriptors stay the caller's to close.
  // Throws Failure (io).
  void start(const std::string& name, const Program& program);

  // The children that have ended since the last call.
  std::vector<Child> ended();
  void signal(const std::string& name, int signal);  // a child that runs
  void signal_all(int signal);
  [[nodiscard]] std::size_t running() const;

 private:
  std::vector<Child> children_;
};

// "was killed by signal 9 (Killed)", "ended with code 78".
std::string describe_status(int status);
// The last lines of a file, for an error message.
std::string last_lines(const std::string& path, std::size_t count);

}  // namespace steelyard
