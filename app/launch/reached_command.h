// ReachedCommand: the command that reaches a host (app/config/reach.h), as a child process whose standard
// input and output lead to a program on that host. One thread.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "app/launch/children.h"
#include "app/launch/launch_plan.h"
#include "app/launch/pipes.h"

namespace steelyard {

class ReachedCommand {
 public:
  explicit ReachedCommand(const LaunchHost& host);  // starts it; throws Failure (io)

  void send(const std::string& line) { in_.add(line); }
  void close() { in_.close(); }  // the program gets end of file

  // Sends what the command accepts now. Returns the lines on standard error that have arrived, of ssh or a
  // login shell. Call it before answers(): a command that has exited by now has all its answers there.
  std::vector<std::string> look();
  std::vector<std::string> answers() { return out_.read(); }  // lines on standard output that have arrived

  [[nodiscard]] const std::optional<int>& status() const {
    return status_;
  }  // from wait(), once it has exited
  [[nodiscard]] bool over() const { return children_.running() == 0; }
  // The last lines on standard error, in one line for a message; safe for a terminal.
  [[nodiscard]] std::string last_words() const;

 private:
  Pipe to_host_ = make_pipe(), from_host_ = make_pipe(), errors_ = make_pipe();
  LineWriter in_{std::move(to_host_.write)};
  LineReader out_{std::move(from_host_.read), longest_launch_line};
  LineReader error_{std::move(errors_.read), longest_said};
  std::deque<std::string> words_;
  std::optional<int> status_;
  Children children_;  // destroyed first
};

}  // namespace steelyard
