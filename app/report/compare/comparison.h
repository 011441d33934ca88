// A comparison and its results: plain data, for jobs (real processes) and scenarios (virtual time).
//
// Seconds are seconds of training: evaluations, which are the same work for all, are left out. Updates are
// versions of the parameters: one a round, or one for each worker of a round if each push is applied at once.
// Unknown numbers are negative.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace steelyard {

// A contender: a policy and a sync mode, on all workers or on one of them alone.
struct Contender {
  std::string policy, sync = "bsp";
  std::string alone;  // the only worker; empty: all take part

  bool operator==(const Contender&) const = default;
};
std::string label(const Contender& contender);        // "lb-bsp bsp", "gtx1070-b alone"
std::string plain_label(const Contender& contender);  // the same as a part of file names: "equal-ssp-2"

// An evaluation on the test set.
struct Evaluation {
  double seconds = 0;  // of training before it
  std::uint64_t updates = 0;
  double accuracy = 0;       // 0..1
  std::uint64_t epochs = 0;  // finished before it; 0: unknown
};

// Computing of a worker, without the exchange.
struct WorkerSpeed {
  std::string name;
  double samples = 0, seconds = 0;
};

// One run of a contender.
struct Trial {
  std::string failure;    // why there is no result; empty: there is one
  bool hopeless = false;  // the set-up is wrong, so it would fail again
  double seconds = 0;
  double samples = 0;
  std::uint64_t updates = 0;
  double percent_of_ideal = -1;
  double efficiency = -1;  // balancing/work_time.h
  double accuracy = -1;    // at the last evaluation
  std::vector<Evaluation> evaluations;
  std::vector<WorkerSpeed> workers;
  std::string directory;  // of a real run

  [[nodiscard]] bool good() const { return failure.empty(); }
  [[nodiscard]] double samples_per_s() const { return seconds > 0 ? samples / seconds : -1; }
};

struct Entry {
  Contender contender;
  std::vector<Trial> trials;  // trial r of all entries has the same seed
};

struct Comparison {
  std::string kind;        // "job" or "scenario"
  std::string name;        // of the job or scenario
  std::string directory;   // where the runs are; empty: nowhere
  std::uint64_t seed = 1;  // of the first repeat; the next has the next
  std::uint64_t repeats = 1;
  double target = 0;         // accuracy to reach; 0: none
  bool interrupted = false;  // some runs are missing
  std::vector<Entry> entries;
};

}  // namespace steelyard
