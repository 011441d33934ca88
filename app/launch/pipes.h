// Pipes that carry lines: what launch, the processes that attend to hosts, and their children say to each
// other. Belongs to one thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace steelyard {

// A file descriptor that is closed when it goes.
class Descriptor {
 public:
  explicit Descriptor(int number = -1) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

struct Pipe {
  Descriptor read, write;
};
// All of them are not inherited by children, and throw Failure (io).
Pipe make_pipe();
Descriptor text_to_read(const std::string& text);  // a file without a name, for a child's standard input
Descriptor log_to_write(const std::string& path);  // a file that grows, for what a child says

// Whole lines out of a pipe, without ever waiting; none out of a descriptor that is none. What ends without a
// newline is a line, too. One that is longer than the limit is cut into several.
class LineReader {
 public:
  LineReader(Descriptor end, std::size_t longest) : end_(std::move(end)), longest_(longest) {}

  std::vector<std::string> read();                     // that have come
  [[nodiscard]] bool ended() const { return ended_; }  // nothing more will come

 private:
  void take(char c, std::vector<std::string>& lines);

  Descriptor end_;
  std::size_t longest_;
  std::string begun_;
  bool cut_ = false;  // what was read last ended a line without being a newline
  bool ended_ = end_.number() < 0;
};

// Lines into a pipe, without ever waiting: what a stalled reader does not take is kept, up to a limit, and
// beyond it dropped.
class LineWriter {
 public:
  explicit LineWriter(Descriptor end);  // makes it non-blocking

  void add(const std::string& line);
  void flush();                                                          // as much as goes
  void close() { end_ = Descriptor(), broken_ = true; }                  // the reader sees the end
  [[nodiscard]] bool broken() const { return broken_; }                  // there is no reader any more
  [[nodiscard]] std::size_t waiting() const { return waiting_.size(); }  // bytes

 private:
  Descriptor end_;
  std::string waiting_;
  bool broken_ = false;
};

}  // namespace steelyard
