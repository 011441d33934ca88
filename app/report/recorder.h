// Recorder: what people see of a run. It takes what the scheduler tells its recorder, and makes of it
// rounds.jsonl, events.jsonl, the progress line, and at the end the summary and the verdict.
//
// Lives on a thread of its own (RecorderThread), so it may wait for disk and terminal. A disk
// that is full costs lines of rounds.jsonl and one warning, not the training. One line of rounds.jsonl, times
// in milliseconds:
//
//   {"round":7,"epoch":0,"purpose":"train","begin":3584,"end":4096,"lr":0.1,"workers":["a","b"],
//    "shares":[341,171],"compute_ms":[20.1,20.3],"round_ms":24.9,"at_ms":199.2,"se":0.01,
//    "percent_of_ideal":97.2,"computing":0.82,"efficiency":0.8,"loss":1.84,"accuracy":0.31}
//
// With backup workers there may be "holes" too: of the positions from "begin" to "end", how many are of other
// rounds.
//
// With a sync mode that applies pushes at once there is "staleness" too: how many updates the pushes of the
// run so far came late, on average.
//
// Lists are in the order of the workers' names. `at_ms` is the end of the round, since the first round of
// this process began: where rounds overlap, and with evaluations, round_ms do not add up to it. A number
// that is not finite is null, and so is what an evaluation does not have (lr, percent_of_ideal, computing,
// efficiency: balancing/work_time.h). Where pushes are applied at once there are none of the last three.
//
// events.jsonl has what is said to people, and where each process began: where it runs, and which round was
// its first, by which its lines belong to its rounds. `at_ms` is as above, 0 before the first round is over.
// It grows by less than a megabyte a minute: what is beyond that is counted, and people are not shown it.
//
//   {"began":"2026-05-04T07:08:09Z","version":"0.1.0","machine":"box-7, AMD EPYC 9655, 96 cores"}
//   {"at_ms":0,"first_round":0}
//   {"at_ms":2310.4,"text":"worker 'a' is lost"}
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "app/config/job_file.h"
#include "app/report/line_file.h"
#include "app/report/progress_bar.h"
#include "app/report/run_directory.h"
#include "app/report/run_totals.h"
#include "app/report/tensorboard_file.h"
#include "core/queue.h"
#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

// EventLimit: how much of what is told to people goes into a record in a minute. Notes come by themselves
// when something happens, so whoever makes things happen, a member that leaves and comes back a hundred times
// a second, must not fill disk and terminal with them.
class EventLimit {
 public:
  // Bytes within a minute by this clock. Any minute touches two of those, and has less than a megabyte.
  static constexpr std::size_t most = 400'000;

  // False: there is no room for so many bytes in this minute; the event is counted.
  bool admits(std::size_t bytes, Time now) {
    if (!since_ || now - *since_ >= std::chrono::minutes(1)) {
      since_ = now;
      used_ = 0;
    }
    if (used_ + bytes > most) {
      ++left_out_;
      return false;
    }
    used_ += bytes;
    return true;
  }
  // What to say of the events that were left out before; nothing where there were none, or where there is
  // still no room.
  std::optional<std::string> left_out(Time now) {
    if (left_out_ == 0 || (used_ + room_for_that > most && now - *since_ < std::chrono::minutes(1)))
      return std::nullopt;
    return std::to_string(std::exchange(left_out_, 0)) +
           " events are left out here: a record takes 400 kB of them in a minute";
  }

 private:
  static constexpr std::size_t room_for_that = 4096;

  std::optional<Time> since_;  // this minute
  std::size_t used_ = 0;
  std::uint64_t left_out_ = 0;
};

class Recorder {
 public:
  // Gets each line of events.jsonl, or of rounds.jsonl, without its end. It must not wait.
  using OnLine = std::function<void(bool event, const std::string& line)>;

  // `file` and `bar` must outlive it. Throws Failure (io) if its files cannot be opened.
  // `goes_on`: it takes the place of one that was killed, and is told first what that had been told.
  Recorder(const JobFile& file, const RunDirectory& run, ProgressBar& bar, bool goes_on = false);

  // Gets the numbers of each round from now on, too; null: there is none.
  void show_on(std::unique_ptr<TensorboardFile> board) { board_ = std::move(board); }
  // Hears each line from now on.
  void tell(OnLine on_line) { on_line_ = std::move(on_line); }
  // All that was told is in the files. False: they cannot be written.
  bool flush(Time now);

  // What it knows beside its files, for one that goes on in its place; times as distances from `now`.
  [[nodiscard]] std::string save(Time now) const;
  // Throws Failure (io) where it is none.
  void restore(std::string_view state, Time now);

  void handle(const ToRecorder& message, Time now);
  void left_out(std::uint64_t rounds) { left_out_ = rounds; }  // that were never handed to it

  // Of what has been told so far; after Ended, of the run.
  [[nodiscard]] Verdict verdict() const;
  [[nodiscard]] std::string summary() const;

 private:
  template <class Archive>
  void fields(Archive& archive);
  void record(const RoundRecord& record, Time now);
  void show(const RoundRecord& record, const std::vector<WorkerPart>& parts, Time now);
  void end(const Ended& ended, Time now);
  void note(const std::string& text, Time now);
  void happened(const std::string& text, Time now);
  [[nodiscard]] std::string event_line(const std::string& text, Time now) const;
  void warn_of_trouble();
  void write(LineFile& file, const std::string& line, Time now);
  [[nodiscard]] double share_done(const RoundRecord& record) const;

  const JobFile& file_;
  const RunDirectory run_;
  ProgressBar& bar_;
  LineFile lines_, events_;
  std::unique_ptr<TensorboardFile> board_;
  OnLine on_line_;  // may be empty
  RunTotals totals_;
  EventLimit event_limit_;
  bool warned_ = false;
  std::uint64_t left_out_ = 0;
  std::optional<Time> began_;  // when the first round of this process was told of
  double first_seconds_ = 0;   // and how long it took
  double first_done_ = -1;     // where this run began, in share of the training; -1: not yet known
  Time first_time_;
  Ended ended_{Outcome::running, {}, {}};
};

// RecorderThread: a Recorder on a thread of its own, so that a run directory or a terminal that hangs holds
// up neither the heartbeats nor the training.
//
// What is told waits in memory until it is recorded. Of training rounds so many may wait that they have a
// million workers' parts in them (about 100 MB: ten workers at ten rounds a second for hours); what is beyond
// is left out of rounds.jsonl and of the totals, and the summary says so. Of notes ten thousand may wait; the
// rest is dropped. Evaluations and the end are few and always kept.
class RecorderThread {
 public:
  static constexpr std::size_t usually_waiting = 1'000'000;  // parts, each round counting for one more
  static constexpr std::size_t most_notes = 10'000;

  // `recorder` is this thread's alone until finish() returns.
  explicit RecorderThread(Recorder& recorder, std::size_t most_waiting = usually_waiting);
  ~RecorderThread();  // as finish()
  RecorderThread(const RecorderThread&) = delete;
  RecorderThread& operator=(const RecorderThread&) = delete;

  void tell(ToRecorder message, Time now);  // never waits
  void finish();                            // waits until all is recorded

  // What `look` returns on the recorder's thread when all that was told is recorded. `look` may wait for the
  // disk; this does not. Nothing: it has not looked yet, or more was told since and it looks again.
  using Look = std::function<std::vector<std::byte>()>;
  std::optional<std::vector<std::byte>> seen_by(Look look);

 private:
  struct Told {
    ToRecorder message;
    Time now;
    std::size_t weight = 0;  // of what is limited
  };
  struct Seen {
    std::vector<std::byte> bytes;
    std::uint64_t told = 0;  // messages before
  };
  struct Looking {
    Look look;
    std::uint64_t told = 0;
  };
  void record();

  Recorder& recorder_;
  const std::size_t most_waiting_;
  std::atomic<std::size_t> waiting_{0}, notes_waiting_{0};
  std::atomic<std::uint64_t> left_out_{0};  // rounds
  std::uint64_t told_so_far_ = 0;           // messages, by the one thread that tells
  bool looking_ = false;
  BoundedQueue<std::variant<Told, Looking>> told_;
  BoundedQueue<Seen> seen_;
  std::thread thread_;
};

}  // namespace steelyard
