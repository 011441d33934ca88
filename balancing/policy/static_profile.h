// `static`: shares from a profile taken before the job; measurements never change them.
//
//   speeds v_i:  x_i = X v_i / sum_j v_j, rounded by largest remainder
//   curves T_i:  the exact integer min-max of T_i(x_i)
//
// The curves are those of the option or, without options, those that the workers measured before training.
// Equivalent to setting shares by hand; suitable while the machines do not change. A worker not listed gets
// the mean speed (or mean curve) of the others. Without a profile the split is that of `equal`.
//
// With curves, a worker that needs longer for one sample than the others for the round gets nothing. It is
// never tried again, since measurements change nothing. Speeds show no fixed costs: every worker gets a
// sample.
#pragma once

#include <steelyard/policy.h>

#include <vector>

#include "balancing/cost/curves.h"
#include "balancing/state.h"

namespace steelyard::balancing {

struct StaticOptions {
  std::vector<double> speeds{};  // in any unit, by slot; positive
  Profile curves{};              // if not empty, speeds are ignored
};

class StaticProfile final : public Saved<Policy, StaticProfile> {
 public:
  static constexpr char title[] = "static.1";
  explicit StaticProfile(StaticOptions options = {}) : options_(std::move(options)) {}

  void observe(const Sample&) override {}
  std::vector<std::uint64_t> plan(const Request& request) override;
  // The profile belongs to the job, not to the checkpoint.
  [[nodiscard]] StaticProfile anew() const { return StaticProfile(options_); }
  void serialize(auto&) {}

 private:
  StaticOptions options_;
};

// The curve of each worker of the request, over samples: of `given`, or if that is empty of
// WorkerView::profile, where a worker without one counts as the mean of the others. Empty without any curve.
std::vector<Cubic> profiled_curves(const Profile& given, const Request& request);

// The exact split on the curves of the request's workers, which are over samples, within these bounds.
std::vector<std::uint64_t> profile_split(const std::vector<Cubic>& curves, const Request& request,
                                         const std::vector<Bound>& bounds);

}  // namespace steelyard::balancing
