#include "balancing/policy/steelyard.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/last_round.h"
#include "balancing/policy/share_bounds.h"
#include "balancing/policy/static_profile.h"

namespace steelyard::balancing {
namespace {

constexpr char title[] = "steelyard.5";
constexpr double growing = 1.1;  // per round, as fast as an exchange is believed to take longer for everybody

}  // namespace

void Steelyard::observe(const Sample& sample) {
  if (!possible(sample)) return;
  last_.add(sample);
  const TimedBatch batch{static_cast<double>(sample.samples), sample.seconds};
  const auto profile = profiled_.find(sample.slot);
  if (profile != profiled_.end())
    workers_.try_emplace(sample.slot, Rules{}, profile->second.near(batch.samples, walk_));
  switch (workers_[sample.slot].observe(batch, {sample.cpu, sample.memory}, changes_last())) {
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
  look_up(request);
  const bool complete = last_.take(request, split_);
  if (complete) compare_links();
  if (workers_.empty() && !options_.profile.empty()) return profile_split(options_.profile, request);
  const std::vector<Affine> costs = curves(request);
  if (complete) see_who_was_late(request, costs);
  // Rounds of another length than those that are measured (the last of an epoch, an evaluation, what a lost
  // worker owed) are solved for themselves: a short one would send everybody with a fixed cost to rest.
  const bool usual = request.positions == last_.samples() || request.positions == split_.total();
  if (!usual || workers_.empty()) {
    const std::vector<Bound> limits = share_bounds(request);
    return min_max(costs, workers_.empty() ? limits : with_rest(request, limits), request.positions);
  }
  Shares wish = solve(request, costs);
  Shares best = held_back(request, costs, wish);
  wish_ = Split::of(request, std::move(wish));
  if (worth_a_move(request, costs, best)) split_ = Split::of(request, std::move(best));
  return split_.shares;
}

void Steelyard::forget_absent(const Request& request) {
  const std::set<std::uint32_t> present = slots_of(request);
  const auto absent = [&](const auto& entry) { return !present.contains(entry.first); };
  std::erase_if(workers_, absent);
  std::erase_if(rests_, absent);
  std::erase_if(links_, absent);
  std::erase_if(waited_, absent);
  std::erase_if(profiled_, absent);
}

void Steelyard::look_up(const Request& request) {
  if (options_.profile.empty()) return;
  walk_ = request.walk;
  for (const WorkerView& worker : request.workers) {
    profiled_.try_emplace(worker.slot, options_.profile.of(worker.name, worker.slot));
  }
}

// Whose link is slower than the best only shows when all times of a round are side by side.
void Steelyard::compare_links() {
  double quickest = INFINITY;
  for (const auto& [slot, work] : last_.work()) {
    if (work.exchange < 0) return;  // where nobody tells what he waited for, rounds may not wait at all
    quickest = std::min(quickest, work.exchange);
  }
  // Not what one slow push has kept all others waiting for.
  exchange_ = exchange_ < 0 ? quickest : std::min(quickest, growing * exchange_);
  for (const auto& [slot, work] : last_.work()) {
    const auto rest = rests_.find(slot);
    links_[slot].observe(work.exchange - quickest,
                         rest != rests_.end() && rest->second.trying && !rest->second.late);
  }
}

// For whom alone the others waited, and how long they would have taken for its samples. That they may have no
// room for them is seen when it is to rest.
void Steelyard::see_who_was_late(const Request& request, const std::vector<Affine>& curves) {
  double last = 0, second = 0, per_second = 0;
  std::vector<const LastRound::Work*> works;
  std::size_t last_worker = 0, count = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const LastRound::Work* work = works.emplace_back(last_.find(request.workers[i].slot));
    if (work == nullptr) continue;
    if (work->exchange < 0) return;
    const double seconds = work->seconds + exchange(request.workers[i].slot);
    second = std::max(second, std::min(last, seconds));
    if (seconds > last) last = seconds, last_worker = i;
    per_second += 1 / curves[i].per_sample;
    ++count;
  }
  if (count < 2) return;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (works[i] == nullptr) continue;
    const double others = per_second - 1 / curves[i].per_sample;
    const double worth = static_cast<double>(works[i]->samples) / others;
    waited_[request.workers[i].slot].observe(i == last_worker ? last - second : 0, worth);
  }
}

std::vector<Affine> Steelyard::curves(const Request& request) const {
  Affine sum;
  double measured = 0;
  std::vector<Affine> all;
  for (const WorkerView& worker : request.workers) {
    const auto found = workers_.find(worker.slot);
    all.push_back(found == workers_.end() ? Affine{} : found->second.curve({worker.cpu, worker.memory}));
    if (found == workers_.end()) continue;
    sum.fixed += all.back().fixed, sum.per_sample += all.back().per_sample, ++measured;
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].per_sample > 0) continue;
    if (const auto profile = profiled_.find(request.workers[i].slot); profile != profiled_.end()) {
      const double share = static_cast<double>(request.positions) / static_cast<double>(all.size());
      all[i] = profile->second.near(share, request.walk);
      continue;
    }
    // With nobody measured any curve will do, as long as it is the same for all.
    all[i] = measured > 0 ? Affine{sum.fixed / measured, sum.per_sample / measured} : Affine{0, 1};
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].fixed += exchange(request.workers[i].slot);
  return all;
}

double Steelyard::exchange(std::uint32_t slot) const {
  const auto link = links_.find(slot);
  return link == links_.end() ? 0 : 2 * link->second.surely();
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
    writer.count(slot)
        .count(rest.until)
        .count(rest.interval)
        .count(rest.trying ? 1 : 0)
        .count(rest.late ? 1 : 0);
  }
  writer.count(waited_.size());
  for (const auto& [slot, waited] : waited_) {
    writer.count(slot);
    waited.save(writer);
  }
  last_.save(writer);
  split_.save(writer);
  wish_.save(writer);
  writer.real(exchange_);
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
    rest.interval = reader.count();
    rest.trying = reader.count(1) == 1;
    rest.late = reader.count(1) == 1;
  }
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    restored.waited_[static_cast<std::uint32_t>(reader.count(UINT32_MAX))].restore(reader);
  }
  restored.last_.restore(reader);
  restored.split_.restore(reader);
  restored.wish_.restore(reader);
  restored.exchange_ = reader.real();
  restored.lasted_ = reader.count();
  restored.accidents_ = reader.count();
  reader.end();
  *this = std::move(restored);
}

}  // namespace steelyard::balancing
