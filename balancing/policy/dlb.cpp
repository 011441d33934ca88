#include "balancing/policy/dlb.h"

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"

namespace steelyard::balancing {
namespace {

constexpr char dlb_title[] = "dlb.1";

}  // namespace

void Dlb::observe(const Sample& sample) {
  if (!possible(sample)) return;
  Work& work = work_[sample.slot];
  work.samples += static_cast<double>(sample.samples);
  work.seconds += sample.seconds;
  if (sample.round > newest_) newest_ = sample.round, ++rounds_;
}

std::vector<std::uint64_t> Dlb::plan(const Request& request) {
  const std::vector<Bound> bounds = share_bounds(request);
  if (split_.empty() || epoch_over(request)) {
    // Before anything is measured all speeds are equal, which is the first epoch.
    split_ = Split::of(request, largest_remainder(speeds(request), request.positions, bounds));
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

std::string Dlb::save() const {
  StateWriter writer(dlb_title);
  writer.count(work_.size());
  for (const auto& [slot, work] : work_) writer.count(slot).real(work.samples).real(work.seconds);
  writer.count(rounds_).count(newest_).count(epoch_);
  split_.save(writer);
  return writer.str();
}

void Dlb::restore(const std::string& text) {
  StateReader reader(text, dlb_title);
  Dlb restored(options_);
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    Work& work = restored.work_[static_cast<std::uint32_t>(reader.count(UINT32_MAX))];
    work.samples = reader.real();
    work.seconds = reader.real();
    reader.require(work.samples > 0 && work.seconds > 0, "a worker did nothing");
  }
  restored.rounds_ = reader.count();
  restored.newest_ = reader.count();
  restored.epoch_ = reader.count();
  restored.split_.restore(reader);
  reader.end();
  *this = std::move(restored);
}

PolicyTable dlb_rows(const PredictorTable&) {
  const auto make = [](const Options& options) {
    return std::make_unique<Dlb>(DlbOptions{options.whole("rounds")});
  };
  return {{"dlb",
           make,
           "once an epoch, in proportion to the speeds of the epoch before (Ye et al. 2023)",
           {rounds_option("rounds", DlbOptions{}.rounds, "of an epoch, where requests do not tell theirs")}}};
}

}  // namespace steelyard::balancing
