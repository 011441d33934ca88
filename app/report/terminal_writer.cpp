#include "app/report/terminal_writer.h"

#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "core/queue.h"

namespace steelyard {
namespace {

constexpr std::size_t most_waiting_texts = 4096;  // texts
constexpr std::size_t most_marks = 64;            // calls of settle() that wait

using Mark = BoundedQueue<bool>;  // holds one: everything before it is written

// False if the reader is gone.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      pollfd ready{file, POLLOUT, 0};  // another process made it non-blocking
      ::poll(&ready, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string not_shown(std::uint64_t lines) {
  return "(" + std::to_string(lines) + " lines were not shown here: the reader was too slow)\n";
}

// Signals are handled by the threads that wait for them, so this thread blocks all.
template <class Body>
std::thread thread_without_signals(Body body) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(std::move(body));
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

template <int file>
TerminalWriter& writer_of_process() {
  static TerminalWriter* const writer = [] {
    std::atexit([] { writer_of_process<file>().settle(); });
    return new TerminalWriter(file);
  }();
  return *writer;
}

}  // namespace

struct TerminalWriter::State {
  struct Text {
    std::string text;
    std::shared_ptr<Mark> mark{};  // instead of a text
  };

  explicit State(int its) : file(its) {}
  // A line after a frame overwrites the frame, unless it begins with \r or \n.
  void run() {
    bool read = true, behind_frame = false;
    while (const auto next = waiting.pop()) {
      if (next->mark) {
        next->mark->try_push(true);
        continue;
      }
      const bool in_the_way = behind_frame && next->text.front() != '\r' && next->text.front() != '\n';
      read = read && write_all(file, in_the_way ? "\r\033[K" + next->text : next->text);
      behind_frame = !next->text.ends_with('\n');
    }
    ended.try_push(true);
  }

  const int file;
  BoundedQueue<Text> waiting{most_waiting_texts + most_marks};
  std::atomic<std::uint64_t> dropped{0};  // lines, not reported yet
  Mark ended{1};
};

TerminalWriter::TerminalWriter(int file)
    : state_(std::make_shared<State>(file)),
      thread_(thread_without_signals([state = state_] { state->run(); })) {}

TerminalWriter::~TerminalWriter() {
  const bool written = settle();
  state_->waiting.close();
  if (written && state_->ended.pop(steady_now() + farewell)) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void TerminalWriter::write(std::string text) {
  if (text.empty()) return;
  const std::size_t waiting = state_->waiting.size();
  if (!text.ends_with('\n') && (state_->dropped > 0 || waiting > 0)) return;
  const std::uint64_t dropped = state_->dropped.exchange(0);
  if (dropped > 0) text = not_shown(dropped) + text;
  if (waiting >= most_waiting_texts || !state_->waiting.try_push({std::move(text)}))
    state_->dropped += dropped + 1;
}

bool TerminalWriter::settle(Duration patience) {
  const Time end = steady_now() + patience;
  const auto written = [&] {
    const auto mark = std::make_shared<Mark>(1);
    return state_->waiting.try_push({{}, mark}) && mark->pop(end).has_value();
  };
  if (!written()) return false;
  const std::uint64_t dropped = state_->dropped.exchange(0);
  if (dropped == 0) return true;
  write(not_shown(dropped));
  return written();
}

int TerminalStream::sync() {
  writer_.write(str());
  str({});
  return 0;
}

TerminalWriter& standard_error() { return writer_of_process<STDERR_FILENO>(); }
TerminalWriter& standard_output() { return writer_of_process<STDOUT_FILENO>(); }

void show_notices(const std::vector<std::string>& notices) {
  for (const std::string& notice : notices) standard_error().line("steelyard: " + notice);
}

}  // namespace steelyard
