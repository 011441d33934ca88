// The directory of a run, runs/<name>-<N>/:
//
//   job.toml       the job as resolved: `steelyard train` takes it again
//   rounds.jsonl   a line for each round; events.jsonl: notes (app/report/recorder.h)
//   checkpoints/   server/checkpoint/checkpoint.h
//   log/           output of each child process
//   tensorboard/   with --tensorboard: files for `tensorboard --logdir`
//   trace/         with --trace: the activity of each node (app/report/trace_file.h)
//   timeline.json  with --trace: the activity of all nodes
//   journal        messages that the scheduler received (app/processes/journal_file.h)
//   lock           the process that trains in it, or was the last to do so (app/processes/run_journal.h)
//   result.json    the verdict; launchers read it, since exit codes may be lost on the way
#pragma once

#include <cmath>
#include <string>

#include "app/report/test_error.h"
#include "core/error.h"
#include "protocol/messages.h"

namespace steelyard {

class RunDirectory {
 public:
  // All throw Failure (io) with the path, the reason and a remedy.
  static RunDirectory next(const std::string& parent, const std::string& name);  // the first N that is free
  static RunDirectory create(const std::string& path);  // exactly this one; it must be empty if it exists
  static RunDirectory open(const std::string& path);    // a directory with a run, to continue it
  // One that other tasks of a job may use, too (app/member/member.h): new, with a run, or with their logs.
  static RunDirectory share(const std::string& path);

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string job() const { return path_ + "/job.toml"; }
  [[nodiscard]] std::string rounds() const { return path_ + "/rounds.jsonl"; }
  [[nodiscard]] std::string events() const { return path_ + "/events.jsonl"; }
  [[nodiscard]] std::string journal() const { return path_ + "/journal"; }
  [[nodiscard]] std::string checkpoints() const { return path_ + "/checkpoints"; }
  [[nodiscard]] std::string result() const { return path_ + "/result.json"; }
  [[nodiscard]] std::string tensorboard() const { return path_ + "/tensorboard"; }
  [[nodiscard]] std::string trace() const { return path_ + "/trace"; }
  [[nodiscard]] std::string timeline() const { return path_ + "/timeline.json"; }
  [[nodiscard]] std::string log(const std::string& child) const { return path_ + "/log/" + child + ".log"; }

  // A sentence for the user: how to continue after an unplanned end.
  [[nodiscard]] std::string way_back() const;

 private:
  explicit RunDirectory(std::string path);  // makes the directories in it

  std::string path_;
};

// Makes <parent>/<name>-<N> with the first free N, and returns its path. Throws Failure (io) likewise.
std::string next_directory(const std::string& parent, const std::string& name);
// A directory for the runs of one command: `given`, which must be empty if it exists, or runs/<name>-N if
// `given` is empty. Throws Failure (io) likewise.
std::string fresh_directory(const std::string& given, const std::string& name);

// Replaces a file atomically and durably: readers see the old text or the new one, also after a power
// failure. Throws Failure (io).
void write_text(const std::string& path, const std::string& text);
// The contents of a file; empty if it does not exist.
std::string read_text(const std::string& path);

// Outcome and numbers of a run; numbers that were never measured are negative, a loss NaN.
struct Verdict {
  Outcome outcome = Outcome::running;
  std::string text;
  double accuracy = -1;                    // at the last evaluation, 0..1; -1: not counted
  double test_loss = NAN;                  // at the last evaluation
  TestError error{};                       // likewise
  double seconds = 0;                      // of training, including the time before a resumption
  Round rounds = 0;                        // of this process
  double samples_per_second = -1;          // of this run
  double steady_samples_per_second = -1;   // after its tenth round
  double percent_of_ideal = -1;            // after its tenth round (balancing/ideal.h)
  double computing = -1, efficiency = -1;  // likewise (balancing/work_time.h)
  Staleness staleness;                     // of all pushes; empty if pushes cannot be late
  std::string checkpoint;                  // path of the newest, or empty
};

ExitCode exit_code(Outcome outcome);
const char* name(Outcome outcome);
std::string verdict_json(const Verdict& verdict);

}  // namespace steelyard
