// TerminalWriter: text for a terminal, a pipe or a log, written by a thread of its own. A reader that
// stops - Ctrl-S, a stalled ssh, a full pipe - holds up that thread alone.
//
// It is a stream buffer: what is flushed is one text. One that ends a line is kept until it can be written,
// 4,096 of them; beyond, they are dropped, counted, and the count is told in their place. One that does not
// end a line is a frame of progress, and is dropped where anything waits before it. What cannot be written
// because the other end is gone is forgotten.
#pragma once

#include <cstdint>
#include <streambuf>
#include <string>
#include <thread>

#include "core/queue.h"

namespace steelyard {

class TerminalWriter : public std::streambuf {
 public:
  explicit TerminalWriter(int file);  // stays open, and the caller's
  ~TerminalWriter() override;         // as finish()
  TerminalWriter(const TerminalWriter&) = delete;
  TerminalWriter& operator=(const TerminalWriter&) = delete;

  // Waits until all is written, as long as that takes: by then nothing else may hang on it.
  void finish();

 protected:
  int_type overflow(int_type letter) override;
  std::streamsize xsputn(const char* text, std::streamsize size) override;
  int sync() override;

 private:
  void write();

  const int file_;
  std::string text_;           // since the last flush
  std::uint64_t dropped_ = 0;  // lines, not told yet
  BoundedQueue<std::string> waiting_;
  std::thread thread_;
};

}  // namespace steelyard
