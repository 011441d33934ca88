// TerminalWriter: lines for people and frames of progress, on a terminal, a pipe or a log, written by a
// thread of its own. A reader that stops - Ctrl-S, a stalled ssh, a full pipe - holds up that thread alone.
//
// A text that ends a line is kept until it can be written, 4,096 of them; beyond, they are dropped, counted,
// and the count is told in their place. One that does not end a line is a frame of progress: it is dropped
// where anything waits before it, and the next line takes its place on the screen. What cannot be written
// because the other end is gone is forgotten.
//
// Any thread may call any function, but for the destructor. None waits for the reader, but settle() and the
// destructor, for a short time.
#pragma once

#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "core/time.h"

namespace steelyard {

class TerminalWriter {
 public:
  // How long a process that ends waits for those who read what it said.
  static constexpr Duration farewell = std::chrono::seconds(2);

  explicit TerminalWriter(int file);  // stays open, and the caller's
  // As settle(). What nobody has read by then is lost, and so is the thread, if it is still in a write().
  ~TerminalWriter();
  TerminalWriter(const TerminalWriter&) = delete;
  TerminalWriter& operator=(const TerminalWriter&) = delete;

  void line(const std::string& text) { write(text + '\n'); }
  void write(std::string text);
  // Waits until all that was given so far is written, and not longer than that; whether it is written.
  bool settle(Duration patience = farewell);

 private:
  struct State;
  const std::shared_ptr<State> state_;  // also the thread's, which may outlive this object
  std::thread thread_;
};

// A stream in front of a writer: what is flushed is one text. One thread; the writer outlives it.
class TerminalStream : public std::stringbuf {
 public:
  explicit TerminalStream(TerminalWriter& writer) : std::stringbuf(std::ios::out), writer_(writer) {}

 protected:
  int sync() override;

 private:
  TerminalWriter& writer_;
};

// The one writer of this process to its standard error, and the one to its standard output. All that runs
// beside a job and has something to tell people tells it here. They are never destroyed; when the process
// exits, they settle.
TerminalWriter& standard_error();
TerminalWriter& standard_output();

// A line for each, on standard error.
void show_notices(const std::vector<std::string>& notices);

}  // namespace steelyard
