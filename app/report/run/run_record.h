// What a run left behind, read back: rounds.jsonl and events.jsonl (app/report/recorder.h) and result.json.
// Pure: takes the texts of the files.
//
// Times are seconds since the first round began. A run that was resumed goes on where the process before it
// stopped, so time never goes back; round numbers may, to the checkpoint. Lines that cannot be read are left
// out and counted: a disk may have been full.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace steelyard {

struct RunPart {
  std::uint32_t worker = 0;  // of RunRecord::workers
  std::uint64_t share = 0;
  double seconds = 0;  // of computing
};

struct RunRound {
  std::uint64_t round = 0, epoch = 0;
  bool train = true;
  double begin = 0, end = 0;
  double loss = 0, accuracy = 0;  // not finite where it was not
  double percent_of_ideal = -1;   // -1: none
  std::vector<RunPart> parts;

  [[nodiscard]] double seconds() const { return end - begin; }
  [[nodiscard]] double slowest() const;  // compute time
  [[nodiscard]] std::uint64_t samples() const;
};

struct RunEvent {
  double at = 0;
  std::string text;
};

struct Origin {  // of each process that trained: the first, and one for each resumption
  std::string date, version, machine;
};

// What result.json says. What is not known is negative.
struct RunResult {
  bool known = false;
  std::string outcome, text, checkpoint;
  double accuracy = -1, seconds = -1, samples_per_second = -1, percent_of_ideal = -1;
};

struct RunRecord {
  std::vector<std::string> workers;  // in the order in which people count: box-9 before box-10
  std::vector<RunRound> rounds;      // in the order in which they ended
  std::vector<RunEvent> events;      // in the order of time
  std::vector<Origin> origins;
  RunResult result;
  std::uint64_t unreadable = 0;  // lines
  std::uint64_t left_out = 0;    // rounds, the oldest: RunReader::forget()
  double left_out_seconds = 0;   // which these took
};

// The same while it grows.
class RunReader {
 public:
  RunReader();
  ~RunReader();
  RunReader(const RunReader&) = delete;
  RunReader& operator=(const RunReader&) = delete;

  void round_lines(std::string_view text);  // any number of whole lines, of rounds.jsonl
  void event_lines(std::string_view text);  // likewise, of events.jsonl

  // If there are more workers' parts of rounds, each round counting for one more, leaves out old rounds until
  // there are half as many; evaluations last.
  void forget(std::size_t most_parts);

  // Workers in the order in which they came, and no events.
  [[nodiscard]] const RunRecord& so_far() const;
  [[nodiscard]] RunRecord record() const;  // all, but for the result

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

RunRecord run_record(std::string_view rounds, std::string_view events, const std::string& result);

// A run directory (app/report/run_directory.h) as its report needs it.

// What the job says of it. `most`: samples that a worker has room for, by name.
struct RunTerms {
  bool barrier = true;
  std::uint64_t grain = 1;
  std::map<std::string, std::uint64_t> most{};
};

struct ReportedRun {
  std::string path;
  std::string name, about;   // of the job; what it trains, in a line
  std::string policy, sync;  // empty: not known
  std::string job;           // job.toml
  std::string trouble;       // why it is not understood; empty: it is
  RunTerms terms;
  std::uint64_t epochs = 0, rounds = 0;  // after which the job ends; 0: no limit
  double seconds = 0;                    // likewise
  RunRecord record;
};

// The last part of its path, if no other of these runs has the same; otherwise all of it.
std::string short_path(const ReportedRun& run, const std::vector<ReportedRun>& among);

// Of what is in memory; pure. A job.toml that this program does not understand, of another release or with a
// user's own models, costs what only the job tells.
ReportedRun reported_run(const std::string& path, const std::string& job, RunRecord record);

// From its directory; it may be under way. Throws Failure (configuration) where there is no run.
ReportedRun read_run(const std::string& path);

}  // namespace steelyard
