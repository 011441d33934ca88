// DLB (Ye, Zhou, Shi, Sun, Lv: TETCI 2023; as DBS arXiv 2007.11831): once per epoch, from the speeds of the
// previous epoch,
//
//   p_i = d_i / t_i              (survey of LB-BSP, DLB and LBB, eq. 2)
//   r_i = p_i / sum_j p_j        (eq. 3)
//   b_i = largest_remainder(r_i X)
//
// with d_i the fraction of the data and t_i the pure compute time of worker i in the epoch. The first epoch
// is an equal split.
//
// Decided here, as the sources leave it open:
//  - d_i / t_i is the epoch's samples over its compute seconds, so that workers that joined late are
//    comparable;
//  - an epoch ends when the request marks its end, or else after `rounds` measured rounds;
//  - a worker without a measurement counts as the mean of the others;
//  - every worker keeps at least one sample, since without one it would never be measured again.
#pragma once

#include <steelyard/policy.h>

#include "balancing/allocate/split.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct DlbOptions {
  // Length of an epoch if requests do not name theirs (the scheduler's always do); at least 1.
  std::uint64_t rounds = 50;
};

class Dlb final : public Saved<Policy, Dlb> {
 public:
  static constexpr char title[] = "dlb.1";
  explicit Dlb(DlbOptions options = {}) : options_(options) {}

  void observe(const Sample& sample) override;
  std::vector<std::uint64_t> plan(const Request& request) override;

  [[nodiscard]] Dlb anew() const { return Dlb(options_); }
  void serialize(auto& fields) {
    fields(work_, rounds_, newest_, epoch_, split_);
    require_work(work_, fields);
  }

 private:
  [[nodiscard]] bool epoch_over(const Request& request) const;
  [[nodiscard]] std::vector<double> speeds(const Request& request) const;

  DlbOptions options_;
  WorkDone work_;             // of this epoch, by slot
  std::uint64_t rounds_ = 0;  // measured in this epoch
  std::uint64_t newest_ = 0;  // round of the newest sample
  std::uint64_t epoch_ = 0;   // in which the split was made
  Split split_;
};

}  // namespace steelyard::balancing
