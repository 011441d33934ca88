// JournalThread: writes the journal of a run (app/processes/journal_file.h) on its own thread, so that a run
// directory that hangs does not block the scheduler's thread.
//
// The scheduler's thread collects records, because waking a thread costs more than a record. It queues them
// when answers wait for them, or at the next record after some milliseconds. This thread writes them in
// order, all waiting records at once. pending() waits for some milliseconds. So if the disk responds, a
// record is in the journal before its answers leave. If it does not, the scheduler's thread continues, holds
// its answers (scheduler/recovery/journaled.h) and calls pending() again, which does not wait while the disk
// is late.
//
// The queue is limited in bytes. Beyond that limit the journal is given up: the thread empties the file as
// soon as the disk responds. Until then it counts as pending, because the journal on disk is older than the
// answers about to leave, and a scheduler restarted from it would contradict them.
//
// Only the thread that constructed it may call its functions; it calls People on that thread.
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
    Duration wait = milliseconds(5);                        // in pending(), unless the disk is late already
    Duration collected = milliseconds(20);                  // longest, if another record follows
    std::size_t most_waiting = JournalFile::waiting_limit;  // bytes
    Duration at_end = std::chrono::seconds(5);              // in finish(), for the remaining records
    Duration silence = std::chrono::seconds(2);             // of the disk, before it is reported
  };
  struct People {
    std::function<void(const std::string& text)> note;  // for terminal and record of the run
    std::function<void(const std::string& text)> show;  // immediate: the record may hang on the same disk
  };

  JournalThread(std::unique_ptr<JournalFile> file, People people)
      : JournalThread(std::move(file), std::move(people), Options()) {}
  JournalThread(std::unique_ptr<JournalFile> file, People people, Options options);
  ~JournalThread();  // calls finish()
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // Takes one record. Returns false if the journal has ended, or ends now.
  bool write(const std::vector<std::byte>& record);
  // Whether it can be replaced: it has not ended, and does not wait for room on the disk.
  [[nodiscard]] bool is_sound() const { return !ended_ && !waits_for_room_; }
  // Queues a replacement by these bytes. Returns false if it is not sound. If the new file cannot be written,
  // the journal silently stays as it was.
  bool begin_anew(std::vector<std::byte> head, const std::vector<std::byte>& records);
  // The number of calls of write() and begin_anew() not written yet. Call repeatedly while answers wait.
  std::size_t pending();
  // The journal with all queued records; empty if it has ended or waits for room. std::nullopt while it is
  // being read: call again.
  std::optional<std::vector<std::byte>> whole();
  // Waits until all is written, at most Options::at_end; later writes may be lost.
  void finish();

 private:
  struct Shared;  // state shared with the thread, which may outlive this object
  struct Order;
  struct Answer;
  struct Reading {
    std::uint64_t number = 0;
    std::optional<std::vector<std::byte>> file;  // once read
    std::vector<std::byte> since;                // records queued after the request
  };

  void hand_over(Order order);
  void hand_over_collected();
  void take_answers(Time until);
  void take(Answer answer);
  void tell_of_silence();
  void end_silence();
  void give_up();
  void add_to_reading(const std::vector<std::byte>& records);

  const People people_;
  const Options options_;
  const std::shared_ptr<Shared> shared_;
  std::vector<std::byte> collected_;  // records not queued yet
  std::size_t collected_calls_ = 0;
  Time collected_since_{};
  std::deque<std::size_t> waiting_;  // bytes of each unwritten call
  std::size_t waiting_bytes_ = 0;
  std::optional<Reading> reading_;
  std::uint64_t readings_ = 0;
  bool late_ = false;
  Reminder silence_;  // of the disk, while it is late
  bool ended_ = false;
  bool waits_for_room_ = false;
  std::thread thread_;
};

}  // namespace steelyard
