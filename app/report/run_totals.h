// Sums over the rounds of a run, numbers derived from them, and the summary at the end. One thread.
//
// The first ten rounds are kept apart: the policy has no measurements yet, and caches are cold. The numbers
// "after the tenth round" are typical of a long training.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "app/config/job_file.h"
#include "app/report/run_directory.h"
#include "balancing/ideal.h"
#include "balancing/work_time.h"
#include "protocol/messages.h"

namespace steelyard {

// Staleness: the delay of the pushes of a run, in steps of their slice. See protocol/messages.h.
std::uint64_t pushes(const Staleness& staleness);
double mean_of(const Staleness& staleness);  // the last place counts as its index; -1 without pushes
// The smallest delay that this share of the pushes did not exceed.
std::uint64_t quantile_of(const Staleness& staleness, double share);
// "2.1 updates on average, half within 2, 95 % within 4, all within 7"; empty without pushes.
std::string staleness_text(const Staleness& staleness);

// One worker's part of a round, summed over its pieces.
struct WorkerPart {
  std::uint32_t slot = 0;
  std::string name;
  std::uint64_t share = 0;
  double seconds = 0;
  double cpu = -1, memory = -1;  // as in RoundRecord::Part
};
std::vector<WorkerPart> by_worker(const RoundRecord& record);  // in the order of names

class RunTotals {
 public:
  explicit RunTotals(const JobFile& file);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(ideal_, all_, steady_, all_work_, steady_work_, last_work_, recent_samples_, recent_seconds_,
            steady_from_, accuracy_, best_accuracy_, test_loss_, best_loss_, evaluations_, best_round_,
            staleness_, workers_);
  }

  void add(const RoundRecord& record, const std::vector<WorkerPart>& parts);

  // -1 in modes in which workers do not wait for each other: the ideal of such rounds is undefined.
  [[nodiscard]] double percent_of_last() const { return waits_ ? ideal_.percent_of_last() : -1; }
  [[nodiscard]] balancing::WorkTime work_of_last() const {
    return waits_ ? last_work_ : balancing::WorkTime{};
  }
  // After the tenth round; of all rounds if there are at most ten.
  [[nodiscard]] double percent_of_ideal() const;
  [[nodiscard]] balancing::WorkTime work() const;
  [[nodiscard]] double recent_samples_per_second() const;  // over about ten rounds
  // At the last evaluation. Accuracy: -1 if unknown or not counted. Loss: NaN if unknown.
  [[nodiscard]] double accuracy() const { return accuracy_; }
  [[nodiscard]] double test_loss() const { return evaluations_ > 0 ? test_loss_ : NAN; }
  [[nodiscard]] double train_seconds() const { return all_.seconds; }
  void add(const Ended& ended);  // takes the final staleness

  // Fills in the numbers that come from rounds.
  void complete(Verdict& verdict) const;
  [[nodiscard]] std::string summary(const Verdict& verdict) const;

 private:
  void add_part(const WorkerPart& part);

  struct Sums {
    double samples = 0, seconds = 0;
    std::uint64_t rounds = 0;
    void add(double more_samples, double more_seconds);
    [[nodiscard]] double rate() const { return seconds > 0 ? samples / seconds : -1; }
    template <class Archive>
    void serialize(Archive& archive) {
      archive(samples, seconds, rounds);
    }
  };
  struct WorkerSums {
    std::string name;
    double share = 0, seconds = 0;
    std::uint64_t rounds = 0;
    template <class Archive>
    void serialize(Archive& archive) {
      archive(name, share, seconds, rounds);
    }
  };

  std::map<std::string, std::uint64_t> most_;  // by worker, if it has a limit
  const bool waits_;                           // rounds end together: pushes are not applied at once
  const std::uint64_t grain_;                  // shares are multiples of it
  balancing::IdealMeter ideal_;
  Sums all_, steady_;
  balancing::WorkTime all_work_, steady_work_, last_work_;
  double recent_samples_ = 0, recent_seconds_ = 0;  // fade
  Round steady_from_ = 0;
  double accuracy_ = -1, best_accuracy_ = -1, test_loss_ = 0, best_loss_ = 0;
  std::uint64_t evaluations_ = 0;
  Round best_round_ = 0;
  Staleness staleness_;
  std::vector<WorkerSums> workers_;  // in the order of names
};

}  // namespace steelyard
