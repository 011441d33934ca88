// RunResults: an observer of a scenario's world that collects the rounds, evaluations and notes that the
// scheduler reports. It does not affect the world.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocol/job.h"
#include "sim/batches.h"
#include "sim/hosted.h"
#include "sim/scenario_result.h"

namespace steelyard::sim {

class RunResults final : public Observer {
 public:
  // Global batches processed, and versions of the parameters made: one per round, or one per worker and round
  // if pushes are applied on arrival.
  struct Tally {
    std::uint64_t batches = 0, updates = 0;
  };

  // `worker_in`: the worker of each slot, filled in by the run. Job, batches and `worker_in` must outlive
  // this object. `trained`: evaluations have real numbers; otherwise they are dropped.
  RunResults(const Job& job, const Batches& batches, std::size_t workers,
             const std::vector<std::size_t>& worker_in, bool trained);

  void told(const ToRecorder& message) override;
  void keep(std::vector<float> parameters) { parameters_ = std::move(parameters); }

  [[nodiscard]] const std::vector<RoundResult>& rounds() const { return rounds_; }
  [[nodiscard]] const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<float>& parameters() const { return parameters_; }  // the last kept
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }      // the scheduler's
  [[nodiscard]] const std::optional<Ended>& ended() const { return ended_; }          // of the job
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  void record(const RoundRecord& done);

  const Job& job_;
  const Batches& batches_;
  const std::size_t workers_;
  const std::vector<std::size_t>& worker_in_;
  const bool trained_;

  std::vector<RoundResult> rounds_;
  Tally tally_;
  std::vector<Evaluation> evaluations_;
  std::vector<float> parameters_;
  double trained_s_ = 0;
  std::vector<std::string> notes_;
  std::optional<Ended> ended_;
};

}  // namespace steelyard::sim
