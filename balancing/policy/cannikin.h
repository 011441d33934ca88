// Cannikin (Nie, Maghakian, Liu: "Cannikin: Optimal Adaptive Distributed DNN Training over Heterogeneous
// Clusters", Middleware 2024; arXiv 2402.05302): a line of compute time per worker, learned on line, and the
// split that is optimal where gradients travel while the backward pass goes on.
//
//   compute    c_i(b) = a_i(b) + P_i(b)             rest and backward pass, both lines
//   start      s_i(b) = a_i(b) + gamma P_i(b)       the first gradients leave
//   exchange   T = To + Tu                          Tu: of the last gradients, which nothing hides
//   time       T_i(b) = c_i(b) + Tu                 if (1 - gamma) P_i(b) >= To  (compute bound)
//                       s_i(b) + To + Tu            otherwise                    (exchange bound)
//
// which is the larger of the two lines in either case. So min max T_i over whole samples is the problem of
// our allocator, and the paper's search for how many workers are compute bound is inside it: all compute
// bound, they end together; all exchange bound, they start together; else c_i = s_j + To.
//
// What reports tell here: c_i, as one number, and how long a worker waited for its parameters. What they do
// not: backward and rest apart, and how long a push took. So
//   s_i(b) = (1 - overlap) c_i(b), with overlap = (1 - gamma) P / c an option, the same for all;
//   T of a worker is what it waited beyond the worker that waited least: all wait for the round's last push,
//   only that much is its own link. A push has the bytes of a pull, so it is given as long; the pull itself
//   is hidden by nothing, and added once more. Tu = last T.
// The paper has one T for all (a ring). With one T and one overlap for all, T_i grows with c_i alike for all
// and no overlap changes the split: it matters between unequal links only.
//
// The paper's first epoch is equal, the second in proportion to speed, then lines are known; here rounds: one
// size is a line through the origin, which is in proportion to speed. Lines are fitted to all that was
// measured, unless `forgetting` says otherwise.
// Its choice of the global batch by gradient noise is no part of a split and left out. Nobody rests.
//
// Only the paper's abstract could be opened again; the equations are not checked against its text.
#pragma once

#include <steelyard/policy.h>

#include <map>

#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct CannikinOptions {
  double overlap = 0.5;   // of the compute time in which gradients leave already, in [0, 1)
  double last = 0.2;      // of the exchange, that nothing hides, in [0, 1]
  double forgetting = 1;  // of the lines, per measurement; 1: nothing is forgotten
};

// The time of a worker over its samples, in seconds.
struct OverlappedTime {
  Affine compute;
  double exchange = 0;  // T
  double overlap = 0, last = 0;

  [[nodiscard]] double operator()(double samples) const;
};

class Cannikin final : public Saved<Policy, Cannikin> {
 public:
  static constexpr char title[] = "cannikin.1";
  explicit Cannikin(CannikinOptions options = {}) : options_(options) {}

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] Cannikin anew() const { return Cannikin(options_); }
  void serialize(auto& fields) {
    fields.by_slot(models_, [&](std::uint32_t) { return Model{ForgettingLine(options_.forgetting)}; });
    fields(last_, split_);
  }

 private:
  struct Model {
    ForgettingLine compute;
    double exchange = -1;  // smoothed, beyond the least of the round; -1: unknown
    void serialize(auto& fields) { fields(compute, exchange); }
  };
  void learn_exchange();
  [[nodiscard]] std::vector<OverlappedTime> times(const Request& request) const;

  CannikinOptions options_;
  std::map<std::uint32_t, Model> models_;  // by slot, of workers that were measured
  LastRound last_;
  Split split_;
};

}  // namespace steelyard::balancing
