// The journal of a run on disk (protocol/journal.h): RUN/journal.
//
// Each record is written before it is answered (app/processes/journal_thread.h), with one write() for all that wait,
// and not synced: what a process has written stays when it is killed. When the machine dies, servers and
// workers on it do too, and the last checkpoint is the way back.
//
// A journal with a gap would tell another story. While its disk is full it stands aside (RUN/journal.aside),
// records wait in memory, and an empty file is in its place; when all of them are written it is back. One
// that cannot be written for another reason, or has reached its limit, is emptied for good. The empty file
// stays: without any, no job would have begun here. It begins anew (protocol/journal.h: Condensed) long before
// it has reached that limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

class JournalFile {
 public:
  // Bytes: read again in some seconds.
  static constexpr std::uint64_t usual_limit = 256 << 20;
  // Bytes that wait for room on the disk: more than half an hour of a busy job.
  static constexpr std::size_t waiting_limit = 32 << 20;

  // What is new with a record: it waits for room, as all behind it; none waits any more; none is written any
  // more. trouble() says why.
  enum class News { none, waits, whole, ends };

  // A new one, which begins with these bytes; whatever was there is replaced as a whole.
  JournalFile(std::string path, const std::vector<std::byte>& head, std::uint64_t limit = usual_limit);
  // Goes on behind the first `size` bytes of one that is there. Throws Failure (io).
  JournalFile(std::string path, std::uint64_t size, std::uint64_t limit = usual_limit);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  News write(const std::vector<std::byte>& record);
  // With these bytes, as a whole; false: it goes on as it was.
  bool begin_anew(const std::vector<std::byte>& bytes);
  // It is emptied for good, and trouble() says this.
  News give_up(const std::string& why);
  // All that was written; empty while it stands aside, or has ended. Throws Failure (io).
  [[nodiscard]] std::vector<std::byte> whole() const;
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] std::string text_of(News news) const;  // for people; empty for none

 private:
  bool put_in_place(const std::vector<std::byte>& bytes);
  News write_waiting();
  News stand_aside();
  News come_back();

  const std::string path_, aside_ = path_ + ".aside";
  const std::uint64_t limit_;
  std::uint64_t size_ = 0;
  int file_ = -1;                   // negative: none is written
  std::vector<std::byte> waiting_;  // while the file stands aside; otherwise none
  std::string trouble_;
};

// All of it; empty also if there is none. Throws Failure (io).
std::vector<std::byte> read_journal(const std::string& path);

}  // namespace steelyard
