// The journal of a run on disk (protocol/journal.h): RUN/journal.
//
// Each record is written before it is answered (app/processes/journal_thread.h), with one write() for all
// that wait, and not synced: what a process has written stays when it is killed. When the machine dies,
// servers and workers on it do too, and the last checkpoint is the way back.
//
// A journal with a gap would tell another story. While its disk is full it stands aside (RUN/journal.aside),
// records wait in memory, and an empty file is in its place; when all of them are written it is back. One
// that cannot be written for another reason, or has reached its limit, is emptied for good. The empty file
// stays: without any, no job would have begun here. It begins anew (protocol/journal.h: Condensed) long
// before it has reached that limit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "app/config/choices.h"
#include "app/report/run_directory.h"

namespace steelyard {

// ReplayMark: which record of a journal is being acted on, in memory that outlives the process.
//
// A journal replays what a scheduler received, so a record that ends the process ends each process that
// replays it. The mark lies in a small file that is mapped into memory: writing to it costs nothing, and what
// was written is there when the process is killed. Two processes that ended at the same record are enough to
// skip it (protocol/journal.h: Skipped).
//
// One thread. Without the file (a full disk) nothing is marked, and nothing is skipped.
class ReplayMark {
 public:
  static constexpr std::uint32_t enough = 2;  // processes that ended at one record

  // The file is made if it is not there. One process at a time has it (app/processes/run_journal.h).
  explicit ReplayMark(std::string path);
  ~ReplayMark();
  ReplayMark(const ReplayMark&) = delete;
  ReplayMark& operator=(const ReplayMark&) = delete;

  // The record that this begins with is acted on now.
  void acting(std::size_t begin);
  // All are done: the file goes.
  void done();

  // Where the record begins at which so many processes have ended, if any has.
  struct Ended {
    std::size_t begin = 0;
    std::uint32_t times = 0;
  };
  [[nodiscard]] std::optional<Ended> ended() const { return ended_; }

 private:
  struct Place {
    std::uint64_t behind;   // 1 + where the record begins that is acted on; 0: none is
    std::uint64_t counted;  // likewise of the last record at which a process has ended
    std::uint32_t times;    // processes that have ended there
  };
  const std::string path_;
  volatile Place* place_ = nullptr;  // null: there is no file
  std::optional<Ended> ended_;
};

// A run's journal as text: what its scheduler heard and what it answered, for people who look for a fault.
// The scheduler is made anew and hears all of it once more, so a debugger sees what happened.
//
//   #41 12.204511872 worker-3f2a Report 1 12 ...
//       -> shard-7 BeginRound 1 4 ...

// The records up to number `until`; times in seconds since the first. The same text whenever it is asked for.
// Throws Failure (configuration) where there is none, or it is of another build.
void print_journal(const RunDirectory& run, std::uint64_t until, std::ostream& out);

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
