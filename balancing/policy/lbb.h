// LBB (Yao, Liu, Gao: J. Supercomputing 2024): two gears, chosen by the straggler effect of the last round,
//
//   SE = (max T - min T) / mean T                                               (eq. 4)
//   SE < FT        nothing                                                      (Alg. 2)
//   SE < RT        fine-tune: B[argmax T] -= step, B[argmin T] += step
//   otherwise      rapid-tune: T_i(b) = (CT_i - a0_i) / CB_i * b + a0_i, and solve again
//
// with CT_i and CB_i the last time and share, and a0_i the constant term of the profile (Alg. 1: a cubic per
// worker, clamped here so that it never falls). With a profile, from the option or measured before training
// (WorkerView::profile), the first split is solved on it; otherwise it is equal.
//
// Decided here, as the paper is silent or differs from the released code:
//  - max T is minimised, not max T - min T: slowing fast workers makes nothing faster;
//  - the fine step takes and gives the same (the printed halves, floor and ceil, change the sum), and all
//    rounding is by largest remainder or exact (the released code trains with 511 of 512);
//  - outlier guard: the rapid gear requires SE >= RT in two of the last three rounds. In the authors' own log
//    one slow iteration ruined the split permanently;
//  - observation window: for `window` rounds after a rapid step only the fine gear is allowed; but the window
//    opens early if SE is larger than before the step, or still at RT or above two rounds after it;
//  - without a profile a0_i is 0 until a second rapid step inside a window shows the worker at two sizes:
//    then it is the value at 0 of the line through both, if that lies in [0, CT_i);
//  - B_i = 0 (eq. 3): a worker that a solution gives nothing gets one sample in the next round, and the rapid
//    gear solves again with a0_i = 0, or with the profile's. If it gives the worker nothing again, the worker
//    rests for at least `window` rounds; then it is tried again, and works or rests for twice as long
//    (LeftOut);
//  - "priority" of fine tuning for workers much slower than the rest (section 3.2.3, not specified): while
//    the slowest takes more than 1.5 times the median, it alone gives, a step to each worker up to the
//    median.
//
// The preset `as-released` follows the code: RT 0.15; fine tuning from 0.06 up, but at any SE while the
// window is closed, and one pair at a time; the window counts balanced rounds (SE <= 0.06) and opens after
// 30; no guard, no early opening.
#pragma once

#include <steelyard/policy.h>

#include <map>
#include <vector>

#include "balancing/allocate/left_out.h"
#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct LbbOptions {
  double fine = 0.05, rapid = 0.3;  // FT and RT
  std::uint64_t step = 1;           // samples per fine step, at least 1
  std::uint64_t window = 10;        // rounds
  bool guard = true;                // against single outliers
  bool balanced_only = false;       // the window counts balanced rounds, with fine tuning meanwhile
  bool profiled_start = true;       // false: the first split is equal even with a profile
  Profile profile{};                // if not empty, used instead of WorkerView::profile
};

LbbOptions lbb_as_released();

class Lbb final : public Saved<Policy, Lbb> {
 public:
  static constexpr char title[] = "lbb.2";
  explicit Lbb(LbbOptions options = {});

  void observe(const Sample& sample) override { last_.add(sample); }
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] Lbb anew() const { return Lbb(options_); }
  void serialize(auto& fields) {
    fields(last_, split_, left_out_, known_, at_most(remembered, effects_), tuned_, since_, measured_since_,
           before_);
  }

 private:
  static constexpr std::size_t remembered = 3;  // rounds that the guard considers

  struct Known {  // of one worker, since the last rapid step
    double samples = 0, seconds = 0;
    double fixed = 0;  // a0
    void serialize(auto& fields) { fields(samples, seconds, fixed); }
  };

  void start(const Request& request);
  void tune(const Request& request);
  void fine_tune(const std::vector<Bound>& bounds);
  void rapid_tune(const Request& request);
  void start_trials(const Request& request);
  [[nodiscard]] double straggler_effect() const;
  [[nodiscard]] bool rapid_is_allowed(double se) const;
  [[nodiscard]] double fixed_cost(std::uint32_t slot, const LastRound::Work& work) const;  // unprofiled

  LbbOptions options_;
  LastRound last_;
  Split split_;
  LeftOut left_out_;
  std::map<std::uint32_t, Known> known_;  // by slot
  std::vector<double> effects_;           // SE of the last rounds, newest last
  bool tuned_ = false;                    // a rapid step has been made for these workers
  std::uint64_t since_ = 0;               // rounds that the window has counted since that step
  std::uint64_t measured_since_ = 0;      // all rounds since
  double before_ = 0;                     // SE before that step
};

}  // namespace steelyard::balancing
