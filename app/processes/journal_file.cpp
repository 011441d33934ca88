#include "app/processes/journal_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

#include "app/processes/recovered_run.h"
#include "app/report/terminal_text.h"
#include "core/error.h"
#include "protocol/message_text.h"
#include "scheduler/recovery/journaled.h"

namespace steelyard {

ReplayMark::ReplayMark(std::string path) : path_(std::move(path)) {
  const int file = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file < 0) return;
  // Allocates the blocks now: a write to a mapping without blocks on a full disk would crash the process.
  if (::posix_fallocate(file, 0, sizeof(Place)) == 0) {
    void* map = ::mmap(nullptr, sizeof(Place), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED) place_ = static_cast<Place*>(map);
  }
  ::close(file);
  if (place_ == nullptr) return;
  // A process that was killed at an earlier record had not reached the counted one.
  if (place_->behind > place_->counted) {
    place_->counted = place_->behind;
    place_->times = 1;
  } else if (place_->behind != 0 && place_->behind == place_->counted) {
    place_->times = place_->times + 1;
  }
  place_->behind = 0;
  if (place_->counted > 0) ended_ = Ended{static_cast<std::size_t>(place_->counted - 1), place_->times};
}

ReplayMark::~ReplayMark() {
  if (place_ != nullptr) ::munmap(const_cast<Place*>(place_), sizeof(Place));
}

void ReplayMark::acting(std::size_t begin) {
  if (place_ != nullptr) place_->behind = begin + 1;
}

void ReplayMark::done() {
  if (place_ == nullptr) return;
  place_->behind = 0;
  place_->counted = 0;
  place_->times = 0;
  ended_.reset();
  ::unlink(path_.c_str());
}

namespace {

std::string text_of(const JournalRecord::What& what) {
  return std::visit(
      Overloaded{
          [](const JournalHead& it) { return "head of job '" + it.job->name + "'"; },
          [](const Heard& it) { return to_string(it.envelope.from) + ' ' + text_of(it.envelope.message); },
          [](const Woken&) { return std::string("woken"); },
          [](const Restarted&) { return std::string("restarted"); },
          [](const Followed& it) {
            return std::string(it.attempt == 0 ? "no standby follows" : "a standby follows");
          },
          [](const Skipped& it) { return "skipped: the message above, from " + to_string(it.from); },
          [](const TookOver& it) { return "a standby leads, generation " + std::to_string(it.generation); },
          [](const Superseded&) { return std::string("superseded: the standby leads"); },
          [](const Condensed& it) {
            return "state of the scheduler, " + std::to_string(it.state.size()) + " bytes";
          },
      },
      what);
}

std::string reason() { return std::generic_category().message(errno); }

[[noreturn]] void fail(const std::string& path, const std::string& what) {
  throw Failure(ExitCode::io, path + ": " + what + ": " + reason() +
                                  ": check the disk, or continue from the last checkpoint "
                                  "with --resume");
}

// Returns the number of bytes written; errno says why not all.
std::size_t write_some(int file, const std::vector<std::byte>& bytes) {
  errno = 0;
  ssize_t written = 0;
  do written = ::write(file, bytes.data(), bytes.size());
  while (written < 0 && errno == EINTR);
  if (written >= 0 && static_cast<std::size_t>(written) < bytes.size()) errno = ENOSPC;
  return written < 0 ? 0 : static_cast<std::size_t>(written);
}

bool write_all(int file, const std::vector<std::byte>& bytes) {
  return write_some(file, bytes) == bytes.size();
}

bool no_room() { return errno == ENOSPC || errno == EDQUOT || errno == EFBIG; }

bool make_empty(const std::string& path) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0) ::close(file);
  return file >= 0;
}

}  // namespace

void print_journal(const RunDirectory& run, std::uint64_t until, std::ostream& out) {
  std::optional<Killed> left = journal_of(run);
  if (!left) {
    throw Failure(ExitCode::configuration, run.journal() + ": not found: another release made this run");
  }
  Scheduler scheduler(left->job, left->from, policy_for(left->job, left->from));
  JournalReader journal(left->journal);
  const Time began = journal.next().value().now;
  std::uint64_t number = 0;
  replay(journal, scheduler, [&](const JournalRecord& record, const std::vector<Envelope>& answers) {
    if (++number > until) return;
    out << '#' << number << ' ' << fixed(seconds(record.now - began), 9) << ' ' << text_of(record.what)
        << '\n';
    for (const Envelope& it : answers)
      out << "    -> " << to_string(it.to) << ' ' << text_of(it.message) << '\n';
  });
  if (journal.read() == left->journal.size()) return;
  if (journal.damaged()) {
    out << "# the data at byte " << journal.read() << " is damaged\n";
  } else {
    out << "# the last record is truncated\n";
  }
}

JournalFile::JournalFile(std::string path, const std::vector<std::byte>& head, std::uint64_t limit)
    : path_(std::move(path)), limit_(limit) {
  if (!put_in_place(head)) give_up(reason());
}

bool JournalFile::begin_anew(const std::vector<std::byte>& bytes) {
  return file_ >= 0 && waiting_.empty() && put_in_place(bytes);
}

// Returns false if nothing changed; errno says why.
bool JournalFile::put_in_place(const std::vector<std::byte>& bytes) {
  const std::string fresh = path_ + ".new";
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
  if (file < 0 || !write_all(file, bytes) || std::rename(fresh.c_str(), path_.c_str()) != 0) {
    const int why = errno;
    if (file >= 0) ::close(file);
    ::unlink(fresh.c_str());
    errno = why;
    return false;
  }
  if (file_ >= 0) ::close(file_);
  file_ = file;
  size_ = bytes.size();
  return true;
}

JournalFile::JournalFile(std::string path, std::uint64_t size, std::uint64_t limit)
    : path_(std::move(path)), limit_(limit), size_(size) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (file_ < 0) fail(path_, "cannot be opened");
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) {
    ::close(file_);
    fail(path_, "cannot be truncated to its valid records");
  }
}

JournalFile::~JournalFile() {
  if (file_ >= 0) ::close(file_);
  if (!waiting_.empty()) ::unlink(aside_.c_str());
}

JournalFile::News JournalFile::write(const std::vector<std::byte>& record) {
  if (file_ < 0) return News::none;
  if (size_ + record.size() > limit_)
    return give_up("it has reached its limit of " + std::to_string(limit_ >> 20) + " MB");
  size_ += record.size();
  if (waiting_.empty()) {
    const std::size_t written = write_some(file_, record);
    if (written == record.size()) return News::none;
    if (!no_room()) return give_up(reason());
    waiting_.assign(record.begin() + static_cast<std::ptrdiff_t>(written), record.end());
    return stand_aside();
  }
  if (waiting_.size() + record.size() > waiting_limit) return give_up(trouble_);
  waiting_.insert(waiting_.end(), record.begin(), record.end());
  return write_waiting();
}

JournalFile::News JournalFile::write_waiting() {
  const std::size_t written = write_some(file_, waiting_);
  if (written < waiting_.size() && !no_room()) return give_up(reason());
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(written));
  return waiting_.empty() ? come_back() : News::none;
}

// Exchanges the two files atomically, so that path_ always exists.
JournalFile::News JournalFile::stand_aside() {
  const std::string why = reason();
  if (!make_empty(aside_) ||
      ::renameat2(AT_FDCWD, aside_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) != 0) {
    return give_up(why);
  }
  trouble_ = why;
  return News::waits;
}

JournalFile::News JournalFile::come_back() {
  if (std::rename(aside_.c_str(), path_.c_str()) != 0) return give_up(reason());
  waiting_ = {};
  trouble_.clear();
  return News::whole;
}

JournalFile::News JournalFile::give_up(const std::string& why) {
  trouble_ = why;
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  waiting_ = {};
  ::unlink(aside_.c_str());
  make_empty(path_);
  return News::ends;
}

std::vector<std::byte> JournalFile::whole() const {
  return trouble_.empty() ? read_journal(path_) : std::vector<std::byte>();
}

std::string JournalFile::text_of(News news) const {
  switch (news) {
    case News::waits:
      return "warning: the journal of this run cannot be written (" + trouble_ +
             "): training continues, but if the scheduler is killed before space is available, the job ends";
    case News::whole:
      return "the journal of this run is complete again: a killed scheduler can be restarted";
    case News::ends:
      return "warning: the journal of this run has ended (" + trouble_ +
             "): training continues, but if the scheduler is killed from here on, the job ends";
    case News::none:
      break;
  }
  return "";
}

std::vector<std::byte> read_journal(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return {};
  if (file < 0) fail(path, "cannot be opened");
  struct stat about {};
  const bool fits = ::fstat(file, &about) == 0 && S_ISREG(about.st_mode) &&
                    static_cast<std::uint64_t>(about.st_size) <= JournalFile::usual_limit;
  std::vector<std::byte> bytes(fits ? static_cast<std::size_t>(about.st_size) : 0);
  std::size_t have = 0;
  ssize_t read = 1;
  while (have < bytes.size() && (read > 0 || errno == EINTR)) {
    read = ::read(file, &bytes[have], bytes.size() - have);
    if (read == 0) break;
    if (read > 0) have += static_cast<std::size_t>(read);
  }
  const int why = std::exchange(errno, 0);
  ::close(file);
  errno = fits ? why : EFBIG;
  if (!fits) fail(path, "is not a regular file, or is larger than a journal can be");
  if (read < 0) fail(path, "cannot be read");
  bytes.resize(have);
  return bytes;
}

}  // namespace steelyard
