#include "report/terminal_writer.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace steelyard {
namespace {

constexpr std::size_t most_waiting = 4096;  // texts

// False if nobody will ever read it.
bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (written < 0 && errno == EAGAIN) {
      pollfd ready{file, POLLOUT, 0};  // somebody else made it non-blocking
      ::poll(&ready, 1, -1);
    } else if (written == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string not_shown(std::uint64_t lines) {
  return "(" + std::to_string(lines) + " lines before were not shown: nobody read)\n";
}

}  // namespace

TerminalWriter::TerminalWriter(int file)
    : file_(file), waiting_(most_waiting), thread_([this] { write(); }) {}

TerminalWriter::~TerminalWriter() { finish(); }

void TerminalWriter::finish() {
  sync();
  if (dropped_ > 0) waiting_.push(not_shown(std::exchange(dropped_, 0)));
  waiting_.close();
  if (thread_.joinable()) thread_.join();
}

void TerminalWriter::write() {
  bool read = true;
  while (const auto text = waiting_.pop()) read = read && write_all(file_, *text);
}

TerminalWriter::int_type TerminalWriter::overflow(int_type letter) {
  if (!traits_type::eq_int_type(letter, traits_type::eof())) text_ += traits_type::to_char_type(letter);
  return traits_type::not_eof(letter);
}

std::streamsize TerminalWriter::xsputn(const char* text, std::streamsize size) {
  text_.append(text, static_cast<std::size_t>(size));
  return size;
}

int TerminalWriter::sync() {
  std::string text = std::exchange(text_, {});
  if (text.empty()) return 0;
  if (!text.ends_with('\n') && (dropped_ > 0 || waiting_.size() > 0)) return 0;
  if (dropped_ > 0) text = not_shown(dropped_) + text;
  dropped_ = waiting_.try_push(std::move(text)) ? 0 : dropped_ + 1;
  return 0;
}

}  // namespace steelyard
