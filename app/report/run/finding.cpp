#include "app/report/run/finding.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "app/report/page/page.h"
#include "balancing/allocate/min_max.h"
#include "balancing/cost/curves.h"
#include "core/error.h"
#include "core/text.h"

namespace steelyard {
namespace {

constexpr std::size_t most_bins = 60;  // parts of a run, each with the worker that the others waited for
constexpr std::size_t curve_rounds = 64;
constexpr std::size_t fewest = 10;         // rounds that a split is fitted to
constexpr double worth_moving = 1 / 1.05;  // of the time of a round

std::optional<RunPart> slowest_of(const RunRound& round) {
  if (round.parts.size() < 2) return std::nullopt;
  return *std::ranges::max_element(round.parts, {}, &RunPart::seconds);
}

// Mean waiting time of the workers but the slowest.
double waiting_of(const RunRound& round) {
  if (round.parts.size() < 2) return 0;
  const double slowest = round.slowest();
  double sum = 0;
  for (const RunPart& part : round.parts) sum += slowest - part.seconds;
  return std::min(sum / static_cast<double>(round.parts.size() - 1), round.seconds());
}

void add_round(Finding& it, const RunRound& round) {
  const double slowest = std::min(round.slowest(), round.seconds());
  it.rounds += 1;
  it.seconds += round.seconds();
  it.samples += static_cast<double>(round.samples());
  it.exchange += round.seconds() - slowest;
  for (const RunPart& part : round.parts) {
    WorkerFinding& worker = it.workers[part.worker];
    ++worker.rounds;
    worker.samples += static_cast<double>(part.share);
    worker.computing += part.seconds;
    if (!it.barrier) continue;
    worker.waiting += std::max(slowest - part.seconds, 0.0);
    worker.exchanging += round.seconds() - slowest;
    it.waiting += std::max(slowest - part.seconds, 0.0) / static_cast<double>(round.parts.size());
  }
  if (!it.barrier) return;
  if (const auto last = slowest_of(round)) {
    ++it.workers[last->worker].last;
    it.workers[last->worker].held += waiting_of(round);
  }
  if (round.percent_of_ideal >= 0)
    it.ideal_seconds = std::max(it.ideal_seconds, 0.0) + round.seconds() * round.percent_of_ideal / 100;
}

// Cuts the rounds of training into bins of about equal numbers. A bin belongs to the worker that the others
// waited for longest in it; neighbouring bins of one worker are one stretch.
std::vector<Stretch> stretches_of(const RunRecord& record) {
  std::vector<std::size_t> train;
  for (std::size_t i = 0; i < record.rounds.size(); ++i) {
    if (record.rounds[i].train) train.push_back(i);
  }
  const std::size_t bins = std::min(most_bins, train.size());
  std::vector<Stretch> found;
  std::size_t bin_of_last = 0;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t from = bin * train.size() / bins, to = (bin + 1) * train.size() / bins;
    std::map<std::uint32_t, double> waited;
    double seconds = 0;
    for (std::size_t i = from; i < to; ++i) {
      const RunRound& round = record.rounds[train[i]];
      seconds += round.seconds();
      if (const auto last = slowest_of(round)) waited[last->worker] += waiting_of(round);
    }
    const auto most = std::ranges::max_element(waited, {}, [](const auto& it) { return it.second; });
    if (most == waited.end() || most->second < 2 * little_waiting * seconds) continue;
    Stretch it{most->first,
               record.rounds[train[from]].begin,
               record.rounds[train[to - 1]].end,
               most->second,
               train[from],
               train[to - 1]};
    if (!found.empty() && found.back().worker == it.worker && bin_of_last + 1 == bin) {
      found.back().end = it.end;
      found.back().last = it.last;
      found.back().waiting += it.waiting;
    } else {
      found.push_back(it);
    }
    bin_of_last = bin;
  }
  for (Stretch& it : found) it.waiting /= std::max(it.end - it.begin, 1e-9);
  return found;
}

// The last rounds of the stretch with the same workers as its last round. Short rounds at the end of an epoch
// are left out: they have another split.
std::vector<const RunRound*> window_of(const RunRecord& record, const Stretch& stretch) {
  const auto names = [](const RunRound& round) {
    std::set<std::uint32_t> set;
    for (const RunPart& part : round.parts) set.insert(part.worker);
    return set;
  };
  std::uint64_t most = 0;
  for (std::size_t i = stretch.first; i <= stretch.last; ++i)
    most = std::max(most, record.rounds[i].train ? record.rounds[i].samples() : 0);
  std::vector<const RunRound*> window;
  for (std::size_t i = stretch.last + 1; i-- > stretch.first && window.size() < curve_rounds;) {
    const RunRound& round = record.rounds[i];
    if (!round.train || round.samples() < most) continue;
    if (!window.empty() && names(round) != names(*window.front())) break;
    window.push_back(&round);
  }
  std::ranges::reverse(window);
  return window;
}

std::optional<BetterSplit> better_split(const RunRecord& record, const Stretch& stretch,
                                        const RunTerms& terms) {
  const std::vector<const RunRound*> window = window_of(record, stretch);
  if (window.size() < fewest) return std::nullopt;
  std::map<std::uint32_t, balancing::AffineWindow> seen;
  std::map<std::uint32_t, double> shares;
  std::vector<double> exchanges;
  std::uint64_t total = 0;
  for (const RunRound* round : window) {
    for (const RunPart& part : round->parts) {
      if (part.share > 0) seen[part.worker].add({static_cast<double>(part.share), part.seconds});
      shares[part.worker] += static_cast<double>(part.share) / static_cast<double>(window.size());
    }
    exchanges.push_back(std::max(round->seconds() - round->slowest(), 0.0));
    total = round->samples();
  }
  BetterSplit it;
  std::vector<balancing::Curve> curves;
  std::vector<balancing::Bound> bounds;
  const std::uint64_t grain = std::max<std::uint64_t>(terms.grain, 1);
  for (const auto& [worker, samples] : seen) {
    if (samples.empty()) continue;
    it.workers.push_back(worker);
    it.now.push_back(shares[worker]);
    curves.push_back([curve = samples.curve(), grain](std::uint64_t grains) {
      return grains == 0 ? 0 : curve(static_cast<double>(grains * grain));
    });
    const auto most = terms.most.find(record.workers[worker]);
    bounds.push_back({0, most == terms.most.end() ? UINT64_MAX : most->second / grain});
  }
  if (curves.size() < 2) return std::nullopt;
  try {
    const std::uint64_t grains = (total + grain - 1) / grain;
    it.better = balancing::min_max(curves, balancing::fitted(bounds, grains), grains);
  } catch (const Failure&) {  // the memory of the workers does not fit the round: not this job
    return std::nullopt;
  }
  // Both times are those of the curves: measured times have noise, and a worker may change its speed.
  double slowest = 0, slowest_now = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    slowest = std::max(slowest, curves[i](it.better[i]));
    slowest_now = std::max(slowest_now, seen[it.workers[i]].curve()(it.now[i]));
  }
  for (std::uint64_t& share : it.better) share *= grain;
  it.begin = window.front()->begin;
  it.end = window.back()->end;
  it.seconds_now = slowest_now + median(exchanges);
  it.seconds_better = slowest + median(exchanges);
  if (it.seconds_better > worth_moving * it.seconds_now) return std::nullopt;
  return it;
}

}  // namespace

std::optional<std::uint32_t> Finding::culprit() const {
  if (!barrier || waiting < little_waiting || workers.empty()) return std::nullopt;
  const auto most = std::ranges::max_element(workers, {}, &WorkerFinding::held);
  return static_cast<std::uint32_t>(most - workers.begin());
}

Finding finding_of(const RunRecord& record, const RunTerms& terms) {
  Finding it;
  it.barrier = terms.barrier;
  it.workers.resize(record.workers.size());
  for (const RunRound& round : record.rounds) {
    if (round.train) add_round(it, round);
  }
  if (it.seconds > 0) {
    it.waiting /= it.seconds;
    it.exchange /= it.seconds;
  }
  if (!terms.barrier) return it;
  it.stretches = stretches_of(record);
  std::vector<Stretch> longest = it.stretches;
  std::ranges::stable_sort(longest, std::greater{},
                           [](const Stretch& s) { return s.waiting * (s.end - s.begin); });
  for (const Stretch& stretch : longest) {
    if (!it.better) it.better = better_split(record, stretch, terms);
  }
  return it;
}

}  // namespace steelyard
