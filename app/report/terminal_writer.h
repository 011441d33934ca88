// TerminalWriter: writes lines and frames of progress to a terminal, a pipe or a log on a thread of its own.
// A reader that stops (Ctrl-S, a stalled ssh, a full pipe) blocks only that thread.
//
// Up to 4,096 texts that end a line wait to be written; further ones are dropped, and a line with their
// number takes their place. A text that does not end a line is a frame of progress: it is dropped if anything
// waits before it, and the next line overwrites it. If the other end is closed, texts are discarded.
//
// In a file that is not read while it is written, lines need their time: LineFormat.
//
// Any thread may call any function except the destructor. Only settle() and the destructor wait for the
// reader, for a short time.
#pragma once

#include <cstdint>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "core/time.h"

namespace steelyard {

enum class LogLevel : std::uint8_t { info, warning, error };

// How lines begin: as they are; "2026-05-04T07:08:09.123Z info  "; or as {"time":...,"level":...,"text":...}.
enum class LineFormat : std::uint8_t { plain, dated, json };
// A line of this format, without a newline; `seconds` since 1970.
std::string formatted_line(LineFormat format, double seconds, LogLevel level, const std::string& text);
// A line without the time and level of LineFormat::dated.
std::string_view without_date(std::string_view line);
// STEELYARD_LOG if it is "plain", "dated" or "json"; otherwise dated for a regular file, plain for the rest.
LineFormat line_format(int file);

class TerminalWriter {
 public:
  // Time that an exiting process waits for its output to be read.
  static constexpr Duration farewell = std::chrono::seconds(2);

  // `file` stays open; it belongs to the caller.
  explicit TerminalWriter(int file, LineFormat format = LineFormat::plain);
  // As settle(). Unread text is lost then, and a thread that is still in a write() is detached.
  ~TerminalWriter();
  TerminalWriter(const TerminalWriter&) = delete;
  TerminalWriter& operator=(const TerminalWriter&) = delete;

  void line(const std::string& text, LogLevel level = LogLevel::info) { write(text + '\n', level); }
  void write(std::string text, LogLevel level = LogLevel::info);
  // Waits until all earlier texts are written, at most for `patience`; returns whether it is written.
  bool settle(Duration patience = farewell);

 private:
  struct State;
  const LineFormat format_;
  const std::shared_ptr<State> state_;  // shared with the thread, which may outlive this object
  std::thread thread_;
};

// A stream to a writer: each flush makes one text. One thread; the writer must outlive it.
class TerminalStream : public std::stringbuf {
 public:
  explicit TerminalStream(TerminalWriter& writer) : std::stringbuf(std::ios::out), writer_(writer) {}

 protected:
  int sync() override;

 private:
  TerminalWriter& writer_;
};

// The writers of this process to standard error and standard output. Everything that runs beside a job writes
// through them. They are never destroyed; they settle when the process exits.
TerminalWriter& standard_error();
TerminalWriter& standard_output();

// Writes each as a warning on standard error.
void show_notices(const std::vector<std::string>& notices);

}  // namespace steelyard
