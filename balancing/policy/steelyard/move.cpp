#include "balancing/policy/steelyard/move.h"

#include <algorithm>
#include <cmath>

#include "balancing/allocate/min_max.h"
#include "balancing/allocate/split.h"

namespace steelyard::balancing {

void Links::observe(const LastRound& round, const std::set<std::uint32_t>& after_rest) {
  if (!rules_.links) return;
  double quickest = INFINITY;
  for (const auto& [slot, work] : round.work()) {
    if (work.exchange < 0) return;  // a worker that does not report it may not wait at all
    quickest = std::min(quickest, work.exchange);
  }
  for (const auto& [slot, work] : round.work()) {
    ExchangeCost& link = links_.try_emplace(slot, rules_.link_changes).first->second;
    link.observe(work.exchange - quickest, after_rest.contains(slot));
  }
}

double Links::seconds(std::uint32_t slot) const {
  const auto link = links_.find(slot);
  return link == links_.end() ? 0 : 2 * link->second.surely();
}

bool Links::changed(std::uint32_t slot) const {
  const auto link = links_.find(slot);
  return link != links_.end() && link->second.changed();
}

void Waits::observe(const Request& request, const LastRound& round, const std::vector<Affine>& curves,
                    const std::vector<double>& link_seconds) {
  double last = 0, second = 0, per_second = 0;
  bool waits = true;  // a worker that does not report its wait may not wait at all
  std::vector<const LastRound::Work*> works;
  std::size_t last_worker = 0, count = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const LastRound::Work* work = works.emplace_back(round.find(request.workers[i].slot));
    if (work == nullptr) continue;
    waits = waits && work->exchange >= 0;
    const double seconds = work->seconds + link_seconds[i];
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
    waited_[request.workers[i].slot].observe(waits && i == last_worker ? last - second : 0, worth);
  }
}

double Waits::surely(std::uint32_t slot) const {
  const auto found = waited_.find(slot);
  return found == waited_.end() ? 0 : found->second.surely();
}

double Waits::worth(std::uint32_t slot) const {
  const auto found = waited_.find(slot);
  return found == waited_.end() ? 0 : found->second.worth();
}

namespace {

constexpr double one_round = 0.05;  // of a share: limit for one round

}  // namespace

const Split& Move::to(const Request& request, const std::vector<Affine>& curves,
                      const std::vector<Known>& known, Shares best) {
  Shares next = held_back(request, curves, known, best);
  wish_ = Split::of(request, std::move(best));
  if (worth_it(request, curves, known, next)) split_ = Split::of(request, std::move(next));
  return split_;
}

// The best split as far as the previous round wanted it, too, and at most a twentieth of each share beyond
// that.
Move::Shares Move::held_back(const Request& request, const std::vector<Affine>& curves,
                             const std::vector<Known>& known, Shares best) const {
  if (!rules_.one_round || !split_.made_for(request) || !wish_.made_for(request)) return best;
  std::vector<Bound> limits = share_bounds(request);
  bool too_far = false;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint64_t now = split_.shares[i], before = wish_.shares[i];
    if ((now == 0) != (best[i] == 0) || now > limits[i].most || (now > 0 && known[i].changing)) return best;
    const auto step =
        std::max<std::uint64_t>(1, static_cast<std::uint64_t>(one_round * static_cast<double>(now)));
    const std::uint64_t low = std::min(now - std::min(now, step), before),
                        high = std::max(now + step, before);
    too_far |= best[i] < low || best[i] > high;
    limits[i] = {now == 0 ? 0 : std::max(limits[i].least, low),
                 now == 0 ? 0 : std::min(limits[i].most, high)};
    if (limits[i].least > limits[i].most) return best;
  }
  return too_far ? min_max(curves, limits, request.positions) : best;
}

bool Move::worth_it(const Request& request, const std::vector<Affine>& curves,
                    const std::vector<Known>& known, const Shares& best) const {
  if (!rules_.least_gain || !split_.made_for(request)) return true;
  // The slowest of many is the one with the most overestimated time, so the largest uncertainty counts. It is
  // that of the current shares: the new ones' is only known after the move.
  double doubt = 0;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const WorkerView& worker = request.workers[i];
    const std::uint64_t share = split_.shares[i];
    // Rests begin and end with the solution; bounds may have changed since.
    if ((share == 0) != (best[i] == 0) || share > worker.most || (share > 0 && share < worker.least))
      return true;
    if (share > 0) doubt = std::max(doubt, known[i].doubt);
  }
  const double now = longest(curves, split_.shares), then = longest(curves, best);
  return now - then > std::max(options_.least_gain, options_.caution * doubt) * now;
}

}  // namespace steelyard::balancing
