// JournalThread: the journal of a run (app/processes/journal_file.h), written by a thread of its own, so that
// a run directory that hangs does not hold up the scheduler's thread.
//
// The scheduler's thread hands records over. The thread writes them in that order, as many at once as wait.
// pending() waits for them for some milliseconds. So where the disk answers, a record is in the journal when
// its answers leave. Where it does not, the scheduler's thread goes on, holds its answers
// (scheduler/recovery/journaled.h) and asks again. It does not wait a second time for a disk that is late.
//
// Records that wait are limited in bytes. Beyond that limit the journal is given up: the thread empties the
// file as soon as the disk answers. It counts as pending until then, for what is on the disk is older than
// what members are about to hear, and a scheduler that goes on from it would contradict them.
//
// All functions belong to the one thread that made it, and it calls People there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "app/processes/journal_file.h"
#include "core/time.h"
#include "scheduler/members/liveness.h"

namespace steelyard {

class JournalThread {
 public:
  struct Options {
    Duration wait = milliseconds(5);  // for what is handed over, unless the disk is late already
    std::size_t most_waiting = JournalFile::waiting_limit;  // bytes
    Duration at_end = std::chrono::seconds(5);              // for what is still to be written
    Duration silence = std::chrono::seconds(2);             // of the disk, before people are told of it
  };
  struct People {
    std::function<void(const std::string& text)> note;  // into the record of the run, too
    std::function<void(const std::string& text)> show;  // at once: the record may hang on the same disk
  };

  JournalThread(std::unique_ptr<JournalFile> file, People people)
      : JournalThread(std::move(file), std::move(people), Options()) {}
  JournalThread(std::unique_ptr<JournalFile> file, People people, Options options);
  ~JournalThread();  // as finish()
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // Hands one record over. False: the journal has ended, or ends now.
  bool write(const std::vector<std::byte>& record);
  // Whether it could begin anew: it has not ended, and does not wait for room on the disk.
  [[nodiscard]] bool is_sound() const { return !ended_ && !waits_for_room_; }
  // It is to begin anew with these bytes. False: it goes on as it was. It also goes on as it was, without a
  // word, where the new file cannot be written.
  bool begin_anew(std::vector<std::byte> head, const std::vector<std::byte>& records);
  // How many of these are not written yet. Asked again and again while answers wait for it.
  std::size_t pending();
  // The journal with all that was handed over; empty: it has ended, or waits for room. Nothing: it is still
  // being read; ask again.
  std::optional<std::vector<std::byte>> whole();
  // Waits until all is written, but not for a disk that hangs: what is not written then may never be.
  void finish();

 private:
  struct Shared;  // with the thread, which may outlive this
  struct Order;
  struct Answer;
  struct Reading {
    std::uint64_t number = 0;
    std::optional<std::vector<std::byte>> file;  // once it is read
    std::vector<std::byte> since;                // handed over after it was asked for
  };

  void hand_over(Order order);
  void take_answers(Time until);
  void take(Answer answer);
  void tell_of_silence();
  void end_silence();
  void give_up();
  void add_to_reading(const std::vector<std::byte>& records);

  const People people_;
  const Options options_;
  const std::shared_ptr<Shared> shared_;
  std::deque<std::size_t> waiting_;  // bytes of each that is not written
  std::size_t waiting_bytes_ = 0;
  std::optional<Reading> reading_;
  std::uint64_t readings_ = 0;
  bool late_ = false;
  Reminder silence_;  // of the disk, since it is late
  bool ended_ = false;
  bool waits_for_room_ = false;
  std::thread thread_;
};

}  // namespace steelyard
