// ReplayMark: which record of a journal is being acted on, in memory that outlives the process.
//
// A journal replays what a scheduler received, so a record that ends the process ends each process that
// replays it. The mark lies in a small file that is mapped into memory: writing to it costs nothing, and what
// was written is there when the process is killed. Two processes that ended at the same record are enough to
// skip it (protocol/journal.h: Skipped).
//
// One thread. Without the file (a full disk) nothing is marked, and nothing is skipped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace steelyard {

class ReplayMark {
 public:
  static constexpr std::uint32_t enough = 2;  // processes that ended at one record

  // The file is made if it is not there. One process at a time has it (app/processes/run_lock.h).
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

}  // namespace steelyard
