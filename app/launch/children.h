// Child processes: started, watched, and never left behind. If this process exits for any reason, the kernel
// sends them SIGTERM, except those that exit with their standard input. Each leads a process group, so
// signals also reach the processes that it starts.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace steelyard {

struct Child {
  std::string name;
  pid_t process = 0;
  std::optional<int> status;  // from wait(); std::nullopt while it runs
};

struct Program {
  std::string path;                        // or a name that is looked up in PATH; empty: this program
  std::vector<std::string> arguments;      // without its own name
  std::vector<std::string> environment{};  // NAME=value, replaces inherited variables
  int in = -1, out = -1,
      error = -1;                 // its descriptors 0, 1 and 2; -1: /dev/null as 0, else inherited
  std::vector<int> keep{};        // descriptors that it inherits under the same numbers; negative: none
  std::vector<unsigned> cores{};  // that it runs on; empty: those of this process
  bool exits_with_input = false;  // a connection to a host: srun would pass SIGTERM on as SIGKILL
};

class Children {
 public:
  Children() = default;
  ~Children();  // kills the children that still run
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  // Starts a program; if it cannot be executed, the child exits with code 127. The caller keeps ownership of
  // the descriptors. Throws Failure (io).
  void start(const std::string& name, const Program& program);

  // The children that have exited since the last call.
  std::vector<Child> ended();
  void signal(const std::string& name, int signal);  // no effect unless the child runs
  void signal_all(int signal);
  [[nodiscard]] std::size_t running() const;

 private:
  std::vector<Child> children_;
};

// "was killed by signal 9 (Killed)", "exited with code 78".
std::string describe_status(int status);
// The last lines of a file, for an error message.
std::string last_lines(const std::string& path, std::size_t count);

}  // namespace steelyard
