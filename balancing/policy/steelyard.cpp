#include "balancing/policy/steelyard.h"

#include <algorithm>
#include <set>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/last_round.h"
#include "balancing/policy/share_bounds.h"

namespace steelyard::balancing {
namespace {

constexpr char title[] = "steelyard.2";
constexpr std::uint64_t first_rest = 8, longest_rest = 1 << 20;  // rounds
constexpr double rest_per_delay = 40;  // rounds of the first rest per round that a trial costs
constexpr double rest_gain = 0.02;     // relative: a round must be faster by this much without a worker

}  // namespace

void Steelyard::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  if (sample.exchange >= 0) links_[sample.slot].observe(sample.exchange);
  const TimedBatch batch{static_cast<double>(sample.samples), sample.seconds};
  switch (workers_[sample.slot].observe(batch, sample.cpu, changes_last())) {
    case CostFilter::Verdict::none:
      break;
    case CostFilter::Verdict::lasted:
      ++lasted_;
      break;
    case CostFilter::Verdict::accident:
      ++accidents_;
      break;
  }
}

bool Steelyard::changes_last() const { return lasted_ >= 2 && lasted_ >= 3 * accidents_; }

std::vector<std::uint64_t> Steelyard::plan(const Request& request) {
  forget_absent(request);
  const std::vector<Affine> costs = curves(request);
  // Rounds of another length than those that are measured (the last of an epoch, an evaluation, what a lost
  // worker owed) are solved for themselves: a short one would send everybody with a fixed cost to rest.
  const bool usual = request.positions == last_.samples() || request.positions == split_.total();
  if (!usual || workers_.empty()) {
    const std::vector<Bound> limits = share_bounds(request);
    return min_max(costs, workers_.empty() ? limits : with_rest(request, limits), request.positions);
  }
  const std::vector<Affine> cautious = insured(request, costs);
  Shares best = solve(request, cautious);
  if (worth_a_move(request, cautious, best)) split_ = Split::of(request, std::move(best));
  return split_.shares;
}

void Steelyard::forget_absent(const Request& request) {
  const std::set<std::uint32_t> present = slots_of(request);
  const auto absent = [&](const auto& entry) { return !present.contains(entry.first); };
  std::erase_if(workers_, absent);
  std::erase_if(rests_, absent);
  std::erase_if(links_, absent);
}

std::vector<Affine> Steelyard::curves(const Request& request) const {
  struct Sum {
    double fixed = 0, per_sample = 0, count = 0;
    void add(const Affine& curve) { fixed += curve.fixed, per_sample += curve.per_sample, count += 1; }
    [[nodiscard]] Affine mean() const { return {fixed / count, per_sample / count}; }
  };
  std::map<std::string, Sum> kinds;
  Sum anybody;
  std::vector<Affine> all;
  for (const WorkerView& worker : request.workers) {
    const auto found = workers_.find(worker.slot);
    all.push_back(found == workers_.end() ? Affine{} : found->second.curve(worker.cpu));
    if (found == workers_.end()) continue;
    kinds[worker.kind].add(all.back());
    anybody.add(all.back());
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].per_sample > 0) continue;
    const Sum& kind = kinds[request.workers[i].kind];
    // With nobody measured any curve will do, as long as it is the same for all.
    all[i] = kind.count > 0 ? kind.mean() : anybody.count > 0 ? anybody.mean() : Affine{0, 1};
  }
  add_exchange(request, all);
  return all;
}

void Steelyard::add_exchange(const Request& request, std::vector<Affine>& curves) const {
  const ExchangeCost* least = nullptr;
  for (const auto& [slot, link] : links_) {
    if (link.known() && (least == nullptr || link.median() < least->median())) least = &link;
  }
  if (least == nullptr) return;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto link = links_.find(request.workers[i].slot);
    if (link == links_.end() || !link->second.known()) continue;
    curves[i].fixed += 2 * link->second.beyond(*least);  // to pull, and to push
  }
}

Steelyard::Shares Steelyard::solve(const Request& request, const std::vector<Affine>& curves) {
  std::vector<Bound> limits = share_bounds(request, still_resting(request, curves));
  Shares all = min_max(curves, limits, request.positions);
  if (!send_to_rest(request, curves, all, limits)) return all;
  limits = share_bounds(request, still_resting(request, curves));
  return min_max(curves, limits, request.positions);
}

// The slots that get nothing in this round. Whose time has come is tried: one round in which it must work.
std::set<std::uint32_t> Steelyard::still_resting(const Request& request, const std::vector<Affine>& curves) {
  std::set<std::uint32_t> resting;
  const bool comparable = split_.same_workers(request);
  const double now = comparable ? longest(curves, split_.shares) : 0;
  for (std::size_t i = 0; i < request.workers.size(); ++i) {
    const auto found = rests_.find(request.workers[i].slot);
    if (found == rests_.end() || found->second.trying) continue;
    const bool would_help = comparable && split_.shares[i] == 0 && curves[i](1) < now / 2;
    if (request.round < found->second.until && !would_help) {
      resting.insert(request.workers[i].slot);
    } else {
      found->second.trying = true;
      found->second.until = request.round;
    }
  }
  return resting;
}

// True if anybody new was sent to rest, compared with the split `all`.
bool Steelyard::send_to_rest(const Request& request, const std::vector<Affine>& curves, const Shares& all,
                             const std::vector<Bound>& limits) {
  const Shares best = min_max(curves, with_rest(request, limits), request.positions);
  const double without = longest(curves, best);
  const bool faster = without < (1 - rest_gain) * longest(curves, all);
  bool sent = false;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint32_t slot = request.workers[i].slot;
    const auto known = workers_.find(slot);
    const auto rest = rests_.find(slot);
    const bool on_trial = rest != rests_.end() && rest->second.trying;
    if (on_trial && rest->second.until == request.round) continue;  // it has not been measured yet
    const bool delays = best[i] == 0 && all[i] > 0 && known != workers_.end() && known->second.settled() &&
                        curves[i](1) * (1 - known->second.doubt(1)) > without;
    if (faster && delays) {
      const double delay = curves[i](1) / without - 1;
      const auto first = static_cast<std::uint64_t>(std::min(rest_per_delay * delay, 1000.0));
      const std::uint64_t interval =
          on_trial ? std::min(longest_rest, 2 * rest->second.interval) : std::max(first_rest, first);
      rests_[slot] = {request.round + interval, interval, false};
      sent = true;
    } else if (on_trial) {
      rests_.erase(rest);
    }
  }
  return sent;
}

bool Steelyard::worth_a_move(const Request& request, const std::vector<Affine>& curves,
                             const Shares& best) const {
  if (!split_.same_workers(request) || split_.total() != request.positions) return true;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const WorkerView& worker = request.workers[i];
    const std::uint64_t share = split_.shares[i];
    // Rests begin and end with the solution; bounds may have changed since.
    if ((share == 0) != (best[i] == 0) || share > worker.most || (share > 0 && share < worker.least))
      return true;
  }
  // The slowest of many is the one whose time was overestimated most, so the largest doubt counts. It is the
  // doubt about the shares as they are: where the new ones lead is only learned by going there.
  double doubt = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const auto known = workers_.find(request.workers[i].slot);
    if (split_.shares[i] == 0 || known == workers_.end()) continue;
    doubt = std::max(doubt, known->second.doubt(static_cast<double>(split_.shares[i])));
  }
  const double now = longest(curves, split_.shares), then = longest(curves, best);
  return now - then > std::max(options_.least_gain, options_.caution * doubt) * now;
}

std::string Steelyard::save() const {
  StateWriter writer(title);
  writer.count(workers_.size());
  for (const auto& [slot, worker] : workers_) {
    writer.count(slot);
    worker.save(writer);
  }
  writer.count(links_.size());
  for (const auto& [slot, link] : links_) {
    writer.count(slot);
    link.save(writer);
  }
  writer.count(rests_.size());
  for (const auto& [slot, rest] : rests_) {
    writer.count(slot).count(rest.until).count(rest.interval).count(rest.trying ? 1 : 0);
  }
  last_.save(writer);
  split_.save(writer);
  return writer.count(lasted_).count(accidents_).str();
}

void Steelyard::restore(const std::string& text) {
  StateReader reader(text, title);
  Steelyard restored(options_);
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    restored.workers_[static_cast<std::uint32_t>(reader.count(UINT32_MAX))].restore(reader);
  }
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    restored.links_[static_cast<std::uint32_t>(reader.count(UINT32_MAX))].restore(reader);
  }
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    Rest& rest = restored.rests_[static_cast<std::uint32_t>(reader.count(UINT32_MAX))];
    rest.until = reader.count();
    rest.interval = reader.count(longest_rest);
    rest.trying = reader.count(1) == 1;
  }
  restored.last_.restore(reader);
  restored.split_.restore(reader);
  restored.lasted_ = reader.count();
  restored.accidents_ = reader.count();
  reader.end();
  *this = std::move(restored);
}

}  // namespace steelyard::balancing
