// The record of a run, read back from the texts of rounds.jsonl, events.jsonl (app/report/recorder.h) and
// result.json. Pure.
//
// Times are seconds since the first round began. A resumed run continues at the time at which the process
// before it stopped, so time never decreases; round numbers may, back to the checkpoint. Lines that cannot be
// read (the disk may have been full) are skipped and counted.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/report/test_error.h"

namespace steelyard {

struct RunPart {
  std::uint32_t worker = 0;  // of RunRecord::workers
  std::uint64_t share = 0;
  double seconds = 0;           // of computing
  float cpu = -1, memory = -1;  // as in RoundRecord::Part
};

struct RunRound {
  std::uint64_t round = 0, epoch = 0;
  bool train = true;
  double begin = 0, end = 0;
  double loss = 0, accuracy = 0;  // not finite where the record has null
  double percent_of_ideal = -1;   // -1: unknown
  TestError error{};              // of an evaluation
  std::vector<RunPart> parts;     // of the workers that had samples

  [[nodiscard]] double seconds() const { return end - begin; }
  [[nodiscard]] double slowest() const;  // compute time
  [[nodiscard]] std::uint64_t samples() const;
};

struct RunEvent {
  double at = 0;
  std::string text;
};

struct Origin {  // one for each process that trained: the first, and each resumption
  std::string date, version, machine;
};

// result.json; unknown numbers are negative.
struct RunResult {
  bool known = false;
  std::string outcome, text, checkpoint;
  double accuracy = -1, seconds = -1, samples_per_second = -1, percent_of_ideal = -1;
  double test_loss = NAN;  // unknown: NaN
  TestError error{};
};

struct RunRecord {
  std::vector<std::string> workers;  // in natural order: box-9 before box-10
  std::vector<RunRound> rounds;      // in the order in which they ended
  std::vector<RunEvent> events;      // in the order of time
  std::vector<Origin> origins;
  RunResult result;
  std::uint64_t unreadable = 0;  // lines
  std::uint64_t left_out = 0;    // oldest rounds that RunReader::forget() dropped
  double left_out_seconds = 0;   // their time
};

// Reads a record that grows.
class RunReader {
 public:
  RunReader();
  ~RunReader();
  RunReader(const RunReader&) = delete;
  RunReader& operator=(const RunReader&) = delete;

  void round_lines(std::string_view text);  // any number of complete lines of rounds.jsonl
  void event_lines(std::string_view text);  // likewise of events.jsonl

  // With more parts than this (each round counts as one more), drops old rounds until half as many are left;
  // evaluations go last.
  void forget(std::size_t most_parts);

  // Without events, and with workers in the order in which they appeared.
  [[nodiscard]] const RunRecord& so_far() const;
  [[nodiscard]] RunRecord record() const;  // all but the result

 private:
  class Lines;
  std::unique_ptr<Lines> lines_;
};

RunRecord run_record(std::string_view rounds, std::string_view events, const std::string& result);

// Properties of the job that the finding needs. `most`: by worker, the samples that fit its memory.
struct RunTerms {
  bool barrier = true;
  std::uint64_t grain = 1;
  std::map<std::string, std::uint64_t> most{};
};

// A run directory (app/report/run_directory.h).
struct ReportedRun {
  std::string path;
  std::string name, about;         // of the job; a line on what it trains
  std::string policy, sync, data;  // empty: unknown
  // By worker: columns of what the job says of its machine, and values; empty: the default.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> machines;
  std::string state;    // "running", "stopped" or an outcome, if the caller knows it
  std::string job;      // job.toml
  std::string trouble;  // the reason why it cannot be read; empty: it can
  RunTerms terms;
  std::uint64_t epochs = 0, rounds = 0;  // after which the job ends; 0: no limit
  double seconds = 0;                    // likewise, a limit
  RunRecord record;
};

// The last part of its path, if no other of these runs has the same; otherwise all of it.
std::string short_path(const ReportedRun& run, const std::vector<ReportedRun>& among);

// From texts in memory; pure. If this program cannot read the job (it is of another release, or has a user's
// own models), the facts of the job are missing and `trouble` has the reason.
ReportedRun reported_run(const std::string& path, const std::string& job, RunRecord record);

// Reads its directory; the run may still be going on. Throws Failure (configuration) if there is no run.
ReportedRun read_run(const std::string& path);

}  // namespace steelyard
