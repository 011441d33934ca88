// Cannikin (Nie, Maghakian, Liu: "Cannikin: Optimal Adaptive Distributed DNN Training over Heterogeneous
// Clusters", Middleware 2024; arXiv 2402.05302): a line of compute time per worker, learned on line, and the
// split that is optimal if gradients are sent during the backward pass.
//
//   compute    c_i(b) = a_i(b) + P_i(b)             rest and backward pass, both lines
//   start      s_i(b) = a_i(b) + gamma P_i(b)       the first gradients are sent
//   exchange   T = To + Tu                          Tu: of the last gradients, hidden by nothing
//   time       T_i(b) = c_i(b) + Tu                 if (1 - gamma) P_i(b) >= To  (compute bound)
//                       s_i(b) + To + Tu            otherwise                    (exchange bound)
//
// This is the larger of the two lines in either case. So min max T_i over whole samples is the problem of our
// allocator, and includes the paper's search for the number of compute-bound workers: if all are compute
// bound, they end together; if all are exchange bound, they start together; otherwise c_i = s_j + To.
//
// Reports contain c_i, as one number, and how long a worker waited for its parameters. They do not separate
// the backward pass from the rest, and do not contain the time of a push. Therefore
//   s_i(b) = (1 - overlap) c_i(b), with overlap = (1 - gamma) P / c an option, the same for all;
//   T of a worker is the time it waited beyond the worker that waited least: all wait for the round's last
//   push, and only the excess belongs to its own link. A push has as many bytes as a pull, so it gets the
//   same time; the pull itself is hidden by nothing, and added once more. Tu = last T.
// The paper has one T for all (a ring). With one T and one overlap for all, T_i grows with c_i alike for all
// and no overlap changes the split: it matters only between unequal links.
//
// The paper's first epoch is equal, the second in proportion to speed, then the lines are known. Here these
// are rounds: one batch size gives a line through the origin, which is in proportion to speed. Lines are
// fitted to all measurements, unless `forgetting` is below 1. The paper also chooses the global batch by
// gradient noise; that is not part of a split and is omitted. No worker rests.
//
// We could only open the paper's abstract again; the equations are not checked against its text.
#pragma once

#include <steelyard/policy.h>

#include <map>

#include "balancing/allocate/split.h"
#include "balancing/cost/curves.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct CannikinOptions {
  double overlap = 0.5;   // part of the compute time during which gradients are sent, in [0, 1)
  double last = 0.2;      // part of the exchange that nothing hides, in [0, 1]
  double forgetting = 1;  // of the lines, per measurement; 1: no forgetting
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
  std::map<std::uint32_t, Model> models_;  // by slot, of measured workers
  LastRound last_;
  Split split_;
};

}  // namespace steelyard::balancing
