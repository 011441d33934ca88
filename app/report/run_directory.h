// Where a run keeps what it leaves behind: runs/<name>-<N>/
//
//   job.toml       the job as resolved: `steelyard train` takes it again
//   rounds.jsonl   one line a round, and events.jsonl what else happened (app/report/recorder.h)
//   checkpoints/   server/checkpoint/checkpoint.h
//   log/           what each child process said
//   tensorboard/   with --tensorboard: what `tensorboard --logdir` shows
//   trace/         with --trace: what each node did when (app/report/trace_file.h), and all of it together in
//   timeline.json
//   journal        what its scheduler heard (app/processes/journal_file.h)
//   lock           the process that trains in it, or did last (app/processes/run_journal.h)
//   result.json    the verdict: launchers go by it, since exit codes get lost on their way up
#pragma once

#include <string>

#include "core/error.h"
#include "protocol/messages.h"

namespace steelyard {

class RunDirectory {
 public:
  // All three throw Failure (io) that names the path, the reason and a way out.
  static RunDirectory next(const std::string& parent, const std::string& name);  // the first N that is free
  static RunDirectory create(const std::string& path);  // exactly this one; it may exist, but must be empty
  static RunDirectory open(const std::string& path);    // one that has a run in it, to go on with

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

  // For people: how to go on after an end that was not planned.
  [[nodiscard]] std::string way_back() const;

 private:
  explicit RunDirectory(std::string path);  // makes the directories in it

  std::string path_;
};

// Makes <parent>/<name>-<N> for the first N that is free, and gives its path. Throws Failure (io) likewise.
std::string next_directory(const std::string& parent, const std::string& name);
// A directory for the runs of one command: `given`, which must be empty if it is there, or runs/<name>-N
// where none is given. Throws Failure (io) likewise.
std::string fresh_directory(const std::string& given, const std::string& name);

// Replaces a file as a whole, and returns when it is on the disk: a reader sees the old text or the new one,
// also after a loss of power. Throws Failure (io).
void write_text(const std::string& path, const std::string& text);
// All of a file that we wrote; empty if there is none.
std::string read_text(const std::string& path);

// How a run ended, in numbers. What was never measured is negative.
struct Verdict {
  Outcome outcome = Outcome::running;
  std::string text;
  double accuracy = -1;                    // share of the test samples, at the last evaluation
  double seconds = 0;                      // training time, with that before a resumption
  Round rounds = 0;                        // seen in this run
  double samples_per_second = -1;          // of this run
  double steady_samples_per_second = -1;   // after its tenth round
  double percent_of_ideal = -1;            // after its tenth round (balancing/ideal.h)
  double computing = -1, efficiency = -1;  // likewise (balancing/work_time.h)
  Staleness staleness;                     // of all pushes; empty where none can be late
  std::string checkpoint;                  // path of the newest, or empty
};

ExitCode exit_code(Outcome outcome);
const char* name(Outcome outcome);
std::string verdict_json(const Verdict& verdict);

}  // namespace steelyard
