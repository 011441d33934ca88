#include "app/hosts/errands.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "app/launch/children.h"
#include "app/launch/pipes.h"
#include "app/report/terminal_text.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr Duration between_looks = std::chrono::milliseconds(5);
constexpr std::size_t most_output = 1 << 20, most_said = 500;  // bytes; columns

// An errand that runs, with the ends of its pipes.
struct Running {
  Errand* errand;
  LineReader out, error;

  void look() {
    for (const auto& [reader, text] : {std::pair(&out, &errand->output), std::pair(&error, &errand->errors)})
      for (const std::string& line : reader->read())
        if (text->size() < most_output) *text += line + "\n";
  }
};

Running started(Children& children, Errand& errand) {
  Descriptor input;
  if (!errand.input.empty()) {
    input = Descriptor(open(errand.input.c_str(), O_RDONLY | O_CLOEXEC));
    if (!input.there()) throw Failure(ExitCode::io, errand.input + ": " + std::strerror(errno));
  }
  Pipe out = make_pipe(), error = make_pipe();
  children.start(errand.name, {.path = errand.words.front(),
                               .arguments = {errand.words.begin() + 1, errand.words.end()},
                               .in = input.get(),
                               .out = out.write.get(),
                               .error = error.write.get()});
  return {&errand, {std::move(out.read), longest_said}, {std::move(error.read), longest_said}};
}

}  // namespace

std::string Errand::said() const {
  std::string text;
  for_each_line(errors, [&](std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);  // ssh writes for a terminal
    text += (text.empty() ? "" : "; ") + std::string(line);
  });
  return shown_line(text, most_said);
}

void run_all(std::vector<Errand>& errands) {
  Children children;
  std::vector<Running> running;
  for (Errand& it : errands) running.push_back(started(children, it));
  while (!running.empty()) {
    const std::vector<Child> ended = children.ended();  // before the pipes, so that all of them is read
    for (Running& it : running) it.look();
    for (const Child& child : ended) {
      const auto it = std::ranges::find(running, child.name, [](const Running& r) { return r.errand->name; });
      it->look();
      it->errand->status = *child.status;
      running.erase(it);
    }
    std::this_thread::sleep_for(between_looks);
  }
}

}  // namespace steelyard
