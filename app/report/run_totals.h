// What a run comes to: sums over its rounds, the numbers made of them, and the summary that a person reads at
// the end. One thread.
//
// The first ten rounds are apart: a policy knows nothing yet, caches are cold, pages are touched for the
// first time. "After the tenth round" is what a long training is like.
#pragma once

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

// Staleness, for people: how late the pushes of a run came, in steps of their slice. See protocol/messages.h.
std::uint64_t pushes(const Staleness& staleness);
double mean_of(const Staleness& staleness);  // the last place counts as itself; -1 where nothing was pushed
// The smallest number of steps within which so large a share of the pushes came.
std::uint64_t quantile_of(const Staleness& staleness, double share);
// "2.1 updates on average, half within 2, 95 % within 4, all within 7"; empty where nothing was pushed.
std::string staleness_text(const Staleness& staleness);

// One worker's part of a round; what it did in several pieces is added up.
struct WorkerPart {
  std::uint32_t slot = 0;
  std::string name;
  std::uint64_t share = 0;
  double seconds = 0;
};
std::vector<WorkerPart> by_worker(const RoundRecord& record);  // in the order of names

class RunTotals {
 public:
  explicit RunTotals(const JobFile& file);

  template <class Archive>
  void serialize(Archive& archive) {
    archive(ideal_, all_, steady_, all_work_, steady_work_, last_work_, recent_samples_, recent_seconds_,
            steady_from_, accuracy_, best_accuracy_, best_round_, staleness_, workers_);
  }

  void add(const RoundRecord& record, const std::vector<WorkerPart>& parts);

  // All -1 where nobody waits for others: what such rounds could have taken at best says nothing.
  [[nodiscard]] double percent_of_last() const { return waits_ ? ideal_.percent_of_last() : -1; }
  [[nodiscard]] balancing::WorkTime work_of_last() const {
    return waits_ ? last_work_ : balancing::WorkTime{};
  }
  // After the tenth round; of all, if there are no more.
  [[nodiscard]] double percent_of_ideal() const;
  [[nodiscard]] balancing::WorkTime work() const;
  [[nodiscard]] double recent_samples_per_second() const;  // over some ten rounds
  [[nodiscard]] double accuracy() const { return accuracy_; }
  [[nodiscard]] double train_seconds() const { return all_.seconds; }
  void add(const Ended& ended);  // what only the end tells

  // Fills in what rounds tell.
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

  std::map<std::string, std::uint64_t> most_;  // by worker, where there is a limit
  const bool waits_;                           // rounds end together: pushes are not applied at once
  const std::uint64_t grain_;                  // of the job: shares are multiples of it
  balancing::IdealMeter ideal_;
  Sums all_, steady_;
  balancing::WorkTime all_work_, steady_work_, last_work_;
  double recent_samples_ = 0, recent_seconds_ = 0;  // fade
  Round steady_from_ = 0;
  double accuracy_ = -1, best_accuracy_ = -1;
  Round best_round_ = 0;
  Staleness staleness_;
  std::vector<WorkerSums> workers_;  // in the order of names
};

}  // namespace steelyard
