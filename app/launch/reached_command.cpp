#include "app/launch/reached_command.h"

#include <utility>

#include "app/report/terminal_text.h"

namespace steelyard {
namespace {

constexpr std::size_t kept_words = 5;      // lines
constexpr std::size_t longest_word = 300;  // columns

}  // namespace

ReachedCommand::ReachedCommand(const LaunchHost& host) {
  const Pipe in = std::move(to_host_), out = std::move(from_host_), error = std::move(errors_);
  children_.start(host.spec.name, {.path = host.command.front(),
                                   .arguments = {host.command.begin() + 1, host.command.end()},
                                   .in = in.read.get(),
                                   .out = out.write.get(),
                                   .error = error.write.get(),
                                   .exits_with_input = true});
}

std::vector<std::string> ReachedCommand::look() {
  in_.flush();
  for (const Child& child : children_.ended()) status_ = child.status;
  std::vector<std::string> lines = error_.read();
  for (std::string& line : lines) {
    if (line.ends_with('\r')) line.pop_back();  // ssh writes for a terminal
    words_.push_back(shown_line(line, longest_word));
    if (words_.size() > kept_words) words_.pop_front();
  }
  return lines;
}

std::string ReachedCommand::last_words() const {
  std::string said;
  for (const std::string& line : words_) said += (said.empty() ? "" : "; ") + line;
  return said;
}

}  // namespace steelyard
