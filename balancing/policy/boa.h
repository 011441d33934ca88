// BOA (Yang, Kang, Youn: J. Supercomputing 76(1), 2020): a linear performance model per worker, learned from
// measured batches and times only, and the exact min-max integer program over these models,
//
//   t_i(b) = alpha_i b + beta_i        recursive least squares with forgetting (ForgettingLine)
//   minimise T  subject to  t_i(b_i) <= T,  sum b_i = X,  b_i integer within its bounds.
//
// Only the abstract is public. Decided here: the program is solved once all workers have been measured, then
// every `period` rounds, or if the longest measured time is `deviation` off the prediction. A new split is
// used if it is predicted to be faster by more than `gain`. If a worker needs more than 1.3 times its own
// model in three rounds in a row (a dynamic straggler), its model is rebuilt from these three.
//
// A worker that the program gives nothing gets one sample in the next round, and the program is solved again
// with a model of this one time. If it gives the worker nothing again, the worker rests for at least a
// period. It is tried again after a solution, and then works or rests for twice as long (LeftOut).
#pragma once

#include <steelyard/policy.h>

#include <deque>
#include <map>
#include <optional>

#include "balancing/allocate/left_out.h"
#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct BoaOptions {
  std::uint64_t period = 50;  // rounds between two solutions, at least 1
  double deviation = 0.1;     // relative, of the longest time from its prediction
  double gain = 0.02;         // relative; splits with a smaller gain are not used
  double forgetting = 0.95;   // of the models, per measurement
};

class Boa final : public Saved<Policy, Boa> {
 public:
  static constexpr char title[] = "boa.2";
  explicit Boa(BoaOptions options = {}) : options_(options) {}

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] Boa anew() const { return Boa(options_); }
  void serialize(auto& fields) {
    fields.by_slot(models_, [&](std::uint32_t) { return Model{ForgettingLine(options_.forgetting), {}}; });
    fields(last_, split_, left_out_, since_, promised_);
  }

 private:
  static constexpr std::size_t straggling_rounds = 3;
  static constexpr double straggling = 1.3;  // times its own model

  struct Model {
    ForgettingLine line;
    std::deque<TimedBatch> late;  // the last measurements, while all of them straggle
    void serialize(auto& fields) { fields(line, at_most(straggling_rounds, late)); }
  };

  [[nodiscard]] std::vector<Affine> curves(const Request& request) const;
  [[nodiscard]] bool due(const Request& request);
  void solve(const Request& request);
  void start_trials(const Request& request);

  BoaOptions options_;
  std::map<std::uint32_t, Model> models_;  // by slot, of measured workers
  LastRound last_;
  Split split_;
  LeftOut left_out_;
  std::uint64_t since_ = 0;  // rounds since the program was solved
  double promised_ = 0;      // seconds of the longest share when solved; 0: solve in the next round
};

}  // namespace steelyard::balancing
