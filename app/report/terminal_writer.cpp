#include "app/report/terminal_writer.h"

#include <poll.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include "app/report/terminal_text.h"
#include "core/json.h"
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

// Each line of a text that ends with a newline. Frames of progress are for terminals, and stay as they are.
std::string formatted_lines(LineFormat format, LogLevel level, const std::string& text) {
  if (format == LineFormat::plain || !text.ends_with('\n')) return text;
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  std::string lines;
  for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
    end = text.find('\n', at);
    if (end > at) lines += formatted_line(format, now, level, text.substr(at, end - at)) + "\n";
  }
  return lines;
}

template <int file>
TerminalWriter& writer_of_process() {
  static TerminalWriter* const writer = [] {
    std::atexit([] { writer_of_process<file>().settle(); });
    return new TerminalWriter(file, file == STDERR_FILENO ? line_format(file) : LineFormat::plain);
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

std::string formatted_line(LineFormat format, double seconds, LogLevel level, const std::string& text) {
  static constexpr const char* names[] = {"info", "warning", "error"};
  if (format == LineFormat::plain) return text;
  const auto whole = static_cast<std::time_t>(std::floor(seconds));
  std::tm at{};
  gmtime_r(&whole, &at);
  const auto thousandths = static_cast<int>((seconds - std::floor(seconds)) * 1000);
  const std::string time = printed("%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", at.tm_year + 1900, at.tm_mon + 1,
                                   at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, thousandths);
  const char* const name = names[static_cast<std::size_t>(level)];
  if (format == LineFormat::json) return dump_json(Json{{"time", time}, {"level", name}, {"text", text}}, -1);
  return time + printed(" %-7s ", name) + text;
}

std::string_view without_date(std::string_view line) {
  static constexpr std::size_t time = 24, all = time + 9;  // with the level and the blanks around it
  const bool dated = line.size() >= all && line[10] == 'T' && line[time - 1] == 'Z' && line[time] == ' ';
  return dated ? line.substr(all) : line;
}

LineFormat line_format(int file) {
  const char* const wanted = std::getenv("STEELYARD_LOG");
  const std::string_view name = wanted == nullptr ? "" : wanted;
  if (name == "plain") return LineFormat::plain;
  if (name == "json") return LineFormat::json;
  struct stat facts {};
  const bool regular = ::fstat(file, &facts) == 0 && S_ISREG(facts.st_mode);
  return name == "dated" || regular ? LineFormat::dated : LineFormat::plain;
}

TerminalWriter::TerminalWriter(int file, LineFormat format)
    : format_(format),
      state_(std::make_shared<State>(file)),
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

void TerminalWriter::write(std::string text, LogLevel level) {
  text = formatted_lines(format_, level, text);
  if (text.empty()) return;
  const std::size_t waiting = state_->waiting.size();
  if (!text.ends_with('\n') && (state_->dropped > 0 || waiting > 0)) return;
  const std::uint64_t dropped = state_->dropped.exchange(0);
  if (dropped > 0) text = formatted_lines(format_, LogLevel::warning, not_shown(dropped)) + text;
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
  for (const std::string& notice : notices) standard_error().line("steelyard: " + notice, LogLevel::warning);
}

}  // namespace steelyard
