#include "app/tools/child_run.h"

#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <sstream>
#include <thread>
#include <utility>

#include "app/launch/children.h"
#include "app/launch/pipes.h"
#include "app/report/run_directory.h"
#include "app/report/terminal_writer.h"

namespace steelyard {

int ChildEnd::code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : -1; }

ChildEnd run_child(const std::vector<std::string>& words, const std::string& log,
                   const std::atomic<bool>& interrupted) {
  const std::string name = "cluster";
  const Descriptor out = log_to_write(log);
  Children children;
  children.start(name, {.path = {}, .arguments = words, .out = out.get(), .error = out.get()});
  bool told = false;
  while (true) {
    if (interrupted && !std::exchange(told, true)) children.signal(name, SIGINT);
    for (const Child& child : children.ended()) return {*child.status, complaint_in(read_text(log))};
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// The cause is the last message before the end of the job was decided: warnings may precede it, and restarts
// of killed processes did not end the job. Indented lines after it quote the log of the failed process.
std::string complaint_in(const std::string& log) {
  const std::string mark = "steelyard: ", indent = "  ";
  std::istringstream in(log);
  std::string found, own;
  for (std::string whole; std::getline(in, whole);) {
    const bool quoted = whole.starts_with(indent);
    const std::string line(without_date(quoted ? whole.substr(indent.size()) : whole));
    if (!line.starts_with(mark)) continue;
    const std::string said = line.substr(mark.size());
    if (quoted) own = "; its message: " + said;
    if (quoted) continue;
    if (said.starts_with("ending the job")) break;
    if (said.starts_with("starting '")) continue;
    found = said;
    own.clear();
  }
  return found + own;
}

}  // namespace steelyard
