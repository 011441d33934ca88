#include "app/report/line_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/error.h"
#include "core/record_parts.h"

namespace steelyard {
namespace {

constexpr Duration between_writes = std::chrono::milliseconds(500);
constexpr std::size_t most_waiting_bytes = 1 << 20;  // bytes

// A killed run may have left half a line, to which the next line must not be joined.
bool ends_within_a_line(int file) {
  char last = '\n';
  const off_t end = ::lseek(file, 0, SEEK_END);
  return end > 0 && ::pread(file, &last, 1, end - 1) == 1 && last != '\n';
}

}  // namespace

LineFile::LineFile(std::string path, Links links, std::uint64_t part_bytes)
    : path_(std::move(path)), part_bytes_(part_bytes) {
  const int no_link = links == Links::refuse ? O_NOFOLLOW : 0;
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | no_link, 0644);
  if (file_ < 0) {
    const std::string why = errno == ELOOP ? "it is a symbolic link" : std::generic_category().message(errno);
    throw Failure(ExitCode::io,
                  path_ + ": cannot be opened: " + why + ": give --run-dir a place where you may write");
  }
  if (ends_within_a_line(file_)) waiting_ = "\n";
}

LineFile::~LineFile() { ::close(file_); }

void LineFile::add(const std::string& line, Time now) {
  if (waiting_.size() + line.size() < most_waiting_bytes) {
    waiting_ += line + "\n";
  } else {
    ++dropped_;
  }
  // With very short rounds, half a second has many lines.
  const bool many = trouble_.empty() && waiting_.size() >= most_waiting_bytes / 16;
  if (many || now - last_ >= between_writes) flush(now);
}

void LineFile::flush(Time now) {
  last_ = now;
  while (!waiting_.empty()) {
    const ssize_t written = ::write(file_, waiting_.data(), waiting_.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      trouble_ = std::generic_category().message(written < 0 ? errno : ENOSPC);
      return;
    }
    // After a partial write the rest follows, so lines stay complete.
    waiting_.erase(0, static_cast<std::size_t>(written));
  }
  trouble_.clear();
  struct stat file {};
  if (part_bytes_ > 0 && ::fstat(file_, &file) == 0 &&
      static_cast<std::uint64_t>(file.st_size) >= part_bytes_)
    begin_part();
}

// Lines go to the old file if the new one cannot be opened; the next flush tries again.
void LineFile::begin_part() {
  if (!close_part(path_)) return;
  const int fresh = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fresh < 0) {
    std::error_code ignored;
    std::filesystem::rename(part_of(path_, last_closed_part(path_)), path_, ignored);
    return;
  }
  ::close(file_);
  file_ = fresh;
}

}  // namespace steelyard
