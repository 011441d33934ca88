// The journal of a run on disk (protocol/journal.h): RUN/journal.
//
// Each record is written before its answers are sent (app/processes/journal_thread.h), with one write() for
// all waiting records. It is not synced: written data survives the death of the process. If the machine
// fails, its servers and workers fail too, and the job is resumed from the last checkpoint.
//
// A journal with a gap would replay to a wrong state. While the disk is full, the journal is renamed to
// RUN/journal.aside, an empty file takes its place, and records wait in memory; once all of them are written
// it is renamed back. If writing fails for another reason, or the journal reaches its limit, it is emptied
// for good. The empty file stays, because a missing one would mean that no job had begun here. The journal is
// condensed (protocol/journal.h: Condensed) long before it reaches that limit.
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

// ReplayMark: which record of a journal is being handled, in memory that outlives the process.
//
// A record that crashes the scheduler crashes each process that replays the journal. The mark is in a small
// memory-mapped file: writing to it is cheap, and survives a crash. A record is skipped after two processes
// crashed at it (protocol/journal.h: Skipped).
//
// One thread. Without the file (a full disk) nothing is marked or skipped.
class ReplayMark {
 public:
  static constexpr std::uint32_t enough = 2;  // crashes at one record before it is skipped

  // Creates the file if it is missing. One process at a time has it open (app/processes/run_journal.h).
  explicit ReplayMark(std::string path);
  ~ReplayMark();
  ReplayMark(const ReplayMark&) = delete;
  ReplayMark& operator=(const ReplayMark&) = delete;

  // The record at offset `begin` is handled next.
  void acting(std::size_t begin);
  // All records are handled: removes the file.
  void done();

  // The record at which processes crashed, and how many.
  struct Ended {
    std::size_t begin = 0;
    std::uint32_t times = 0;
  };
  [[nodiscard]] std::optional<Ended> ended() const { return ended_; }

 private:
  struct Place {
    std::uint64_t behind;   // 1 + offset of the record being handled; 0: no record
    std::uint64_t counted;  // likewise, the last record at which a process crashed
    std::uint32_t times;    // crashes there
  };
  const std::string path_;
  volatile Place* place_ = nullptr;  // null without a file
  std::optional<Ended> ended_;
};

// Prints a run's journal for debugging: the messages that its scheduler received, and its answers. A new
// scheduler replays the messages, so a debugger can step through it.
//
//   #41 12.204511872 worker-3f2a Report 1 12 ...
//       -> shard-7 BeginRound 1 4 ...

// Prints the records up to number `until`; times are in seconds since the first. The output is deterministic.
// Throws Failure (configuration) if there is no journal, or another build wrote it.
void print_journal(const RunDirectory& run, std::uint64_t until, std::ostream& out);

class JournalFile {
 public:
  // Bytes; a journal of this size is replayed in some seconds.
  static constexpr std::uint64_t usual_limit = 256 << 20;
  // Bytes that may wait for room on the disk: more than half an hour of a busy job.
  static constexpr std::size_t waiting_limit = 32 << 20;

  // Changes of state. waits: this record and all later ones wait for room on the disk. whole: no record waits
  // any more. ends: no record is written any more. trouble() says why.
  enum class News { none, waits, whole, ends };

  // Creates a journal with these bytes; atomically replaces an existing one.
  JournalFile(std::string path, const std::vector<std::byte>& head, std::uint64_t limit = usual_limit);
  // Continues after the first `size` bytes of an existing journal. Throws Failure (io).
  JournalFile(std::string path, std::uint64_t size, std::uint64_t limit = usual_limit);
  ~JournalFile();
  JournalFile(const JournalFile&) = delete;
  JournalFile& operator=(const JournalFile&) = delete;

  News write(const std::vector<std::byte>& record);
  // Atomically replaces the content with these bytes. Returns false if the journal stays as it was.
  bool begin_anew(const std::vector<std::byte>& bytes);
  // Empties the journal for good; `why` becomes trouble().
  News give_up(const std::string& why);
  // The whole journal; empty while records wait for room, or if it has ended. Throws Failure (io).
  [[nodiscard]] std::vector<std::byte> whole() const;
  [[nodiscard]] const std::string& trouble() const { return trouble_; }
  [[nodiscard]] std::string text_of(News news) const;  // message for users; empty for none

 private:
  bool put_in_place(const std::vector<std::byte>& bytes);
  News write_waiting();
  News stand_aside();
  News come_back();

  const std::string path_, aside_ = path_ + ".aside";
  const std::uint64_t limit_;
  std::uint64_t size_ = 0;
  int file_ = -1;                   // negative: the journal has ended
  std::vector<std::byte> waiting_;  // records that wait for room on the disk
  std::string trouble_;
};

// Reads a whole journal; empty if the file does not exist. Throws Failure (io).
std::vector<std::byte> read_journal(const std::string& path);

}  // namespace steelyard
