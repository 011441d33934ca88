#include "balancing/policy/dlb.h"

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"

namespace steelyard::balancing {
void Dlb::observe(const Sample& sample) {
  if (!possible(sample)) return;
  TimedBatch& work = work_[sample.slot];
  work.samples += static_cast<double>(sample.samples);
  work.seconds += sample.seconds;
  if (sample.round > newest_) newest_ = sample.round, ++rounds_;
}

std::vector<std::uint64_t> Dlb::plan(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  if (split_.empty() || epoch_over(request)) {
    // Before any measurement all speeds are equal, unless the workers have profiles: the first epoch.
    split_ =
        Split::of(request, work_.empty() ? split_.adapted(request, bounds)
                                         : largest_remainder(speeds(request), request.positions, bounds));
    epoch_ = request.epoch;
    rounds_ = 0;
    work_.clear();
  }
  return split_.adapted(request, bounds);
}

bool Dlb::epoch_over(const Request& request) const {
  if (rounds_ == 0) return false;
  return request.epoch > 0 ? request.epoch != epoch_ : rounds_ >= options_.rounds;
}

std::vector<double> Dlb::speeds(const Request& request) const {
  std::vector<double> all;
  for (const WorkerView& worker : request.workers) {
    const auto found = work_.find(worker.slot);
    all.push_back(found == work_.end() ? 0 : found->second.samples / found->second.seconds);
  }
  fill_with_mean(all);
  return all;
}

PolicyTable dlb_rows(const PredictorTable&) {
  const auto make = [](const Options& options) {
    return std::make_unique<Dlb>(DlbOptions{options.whole("rounds")});
  };
  return {
      {"dlb",
       make,
       "once per epoch, in proportion to the speeds of the previous epoch (Ye et al. 2023)",
       {rounds_option("rounds", DlbOptions{}.rounds, "length of an epoch if requests do not name theirs")}}};
}

}  // namespace steelyard::balancing
