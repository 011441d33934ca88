// Recorder: turns the scheduler's messages into rounds.jsonl, events.jsonl, the progress line, and at the end
// the summary and the verdict.
//
// It runs on a thread of its own (RecorderThread), so it may block on disk and terminal. A full disk costs
// lines of rounds.jsonl and one warning; the training continues. A line of rounds.jsonl, times in
// milliseconds:
//
//   {"round":7,"epoch":0,"purpose":"train","begin":3584,"end":4096,"lr":0.1,"workers":["a","b"],
//    "shares":[341,171],"compute_ms":[20.1,20.3],"round_ms":24.9,"at_ms":199.2,"se":0.01,
//    "percent_of_ideal":97.2,"computing":0.82,"efficiency":0.8,"loss":1.84,"accuracy":0.31}
//
// "rmse" or "mae" (evaluations of a model that predicts one number): see test_error.h. Its accuracy is null.
// "cpu", "memory_mb" (if a worker measures them): for each worker the part of its processor that is
// available to it, 0 to 1, and its available memory; null: unknown.
// "holes" (backup workers): the number of positions from "begin" to "end" that belong to other rounds.
// "staleness" (modes that apply pushes at once): mean delay of all earlier pushes of the run, in updates.
//
// Lists have the order of the workers' names. `at_ms` is the end of the round, since the first round of this
// process began; with overlapping rounds and evaluations it is not the sum of round_ms. Null: a number that
// is not finite, or that an evaluation does not have (lr, percent_of_ideal, computing, efficiency:
// balancing/work_time.h; modes that apply pushes at once do not have the last three either).
//
// events.jsonl has the notes, and for each process its start, its machine and its first round. `at_ms` is as
// above, and 0 before the first round has ended. The file grows by less than 1 MB a minute; further notes are
// counted and not shown.
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
#include "app/report/error_scale.h"
#include "app/report/line_file.h"
#include "app/report/progress_bar.h"
#include "app/report/run_directory.h"
#include "app/report/run_totals.h"
#include "app/report/tensorboard_file.h"
#include "core/queue.h"
#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

// EventLimit: the number of bytes of notes that a record takes in a minute. A member that leaves and joins a
// hundred times a second must not fill disk and terminal with notes.
class EventLimit {
 public:
  // Bytes in a period of a minute. Any minute overlaps two periods, so it has less than 1 MB.
  static constexpr std::size_t most = 400'000;

  // False: the limit of this minute is reached; the event is counted.
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
  // A note about the events left out before; nothing if there were none, or if the limit is still reached.
  std::optional<std::string> left_out(Time now) {
    if (left_out_ == 0 || (used_ + room_for_that > most && now - *since_ < std::chrono::minutes(1)))
      return std::nullopt;
    return std::to_string(std::exchange(left_out_, 0)) +
           " events are left out here: a record takes 400 kB of events a minute";
  }

 private:
  static constexpr std::size_t room_for_that = 4096;

  std::optional<Time> since_;  // this minute
  std::size_t used_ = 0;
  std::uint64_t left_out_ = 0;
};

class Recorder {
 public:
  // Receives each line of events.jsonl or rounds.jsonl, without its newline. It must not block.
  using OnLine = std::function<void(bool event, const std::string& line)>;

  // `file` and `bar` must outlive it. Throws Failure (io) if its files cannot be opened. `goes_on`: it
  // replaces the recorder of a killed process, and first receives the messages of that one again.
  // `errors`: of the job. `part_bytes`: of rounds.jsonl (app/report/line_file.h).
  Recorder(const JobFile& file, const RunDirectory& run, ProgressBar& bar, bool goes_on = false,
           ErrorScale errors = {}, std::uint64_t part_bytes = 0);

  // Also writes the numbers of each further round to `board`, unless it is null.
  void show_on(std::unique_ptr<TensorboardFile> board) { board_ = std::move(board); }
  // Passes each further line to `on_line`.
  void tell(OnLine on_line) { on_line_ = std::move(on_line); }
  // Writes all received messages to the files. False: they cannot be written.
  bool flush(Time now);

  // Its state apart from the files, for a recorder that replaces it; times relative to `now`.
  [[nodiscard]] std::string save(Time now) const;
  // Throws Failure (io) if `state` cannot be read.
  void restore(std::string_view state, Time now);

  void handle(const ToRecorder& message, Time now);
  void left_out(std::uint64_t rounds) { left_out_ = rounds; }  // rounds that it never received

  // For the messages received by now; after Ended, for the run.
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
  const ErrorScale errors_;
  EventLimit event_limit_;
  bool warned_ = false;
  std::uint64_t left_out_ = 0;
  std::optional<Time> began_;  // when the record of the first round of this process arrived
  double first_seconds_ = 0;   // its length
  double first_done_ = -1;     // share of the training at the start of this process; -1: unknown
  Time first_time_;
  Ended ended_{Outcome::running, {}, {}};
};

// RecorderThread: a Recorder on a thread of its own, so that a hanging file system or terminal delays neither
// heartbeats nor training.
//
// Messages wait in memory until they are recorded: training rounds with up to a million parts (about 100 MB,
// ten workers at ten rounds a second for hours), and 10,000 notes. Further rounds are missing in rounds.jsonl
// and in the totals, which the summary reports; further notes are dropped. Evaluations and the end are always
// kept.
class RecorderThread {
 public:
  static constexpr std::size_t usually_waiting = 1'000'000;  // parts; each round counts as one more
  static constexpr std::size_t most_notes = 10'000;

  // Only this thread uses `recorder` until finish() returns.
  explicit RecorderThread(Recorder& recorder, std::size_t most_waiting = usually_waiting);
  ~RecorderThread();  // as finish()
  RecorderThread(const RecorderThread&) = delete;
  RecorderThread& operator=(const RecorderThread&) = delete;

  void tell(ToRecorder message, Time now);  // never blocks
  void finish();                            // blocks until everything is recorded

  // The result of `look`, which runs on the recorder's thread after all earlier messages are recorded. `look`
  // may block; this call does not. Nothing: no result yet, or newer messages arrived and `look` runs again.
  using Look = std::function<std::vector<std::byte>()>;
  std::optional<std::vector<std::byte>> seen_by(Look look);

 private:
  struct Told {
    ToRecorder message;
    Time now;
    std::size_t weight = 0;  // counts towards the limit
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
  std::uint64_t told_so_far_ = 0;           // messages; used by the sending thread only
  bool looking_ = false;
  BoundedQueue<std::variant<Told, Looking>> told_;
  BoundedQueue<Seen> seen_;
  std::thread thread_;
};

}  // namespace steelyard
