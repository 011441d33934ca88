// When `steelyard` moves shares, and how far.
#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/share_bounds.h"
#include "balancing/policy/steelyard.h"

namespace steelyard::balancing {
namespace {

constexpr double one_round = 0.05;  // of a share: as far as it moves on the word of one round

}  // namespace

// The best split as far as the round before wanted it too, and a twentieth of each share beyond.
Steelyard::Shares Steelyard::held_back(const Request& request, const std::vector<Affine>& curves,
                                       Shares best) const {
  if (!split_.made_for(request) || !wish_.made_for(request)) return best;
  std::vector<Bound> limits = share_bounds(request);
  bool too_far = false;
  for (std::size_t i = 0; i < best.size(); ++i) {
    const std::uint64_t now = split_.shares[i], before = wish_.shares[i];
    if ((now == 0) != (best[i] == 0) || now > limits[i].most) return best;
    const auto known = workers_.find(request.workers[i].slot);
    const auto link = links_.find(request.workers[i].slot);
    if (link != links_.end() && link->second.changed()) return best;
    if (now > 0 && (known == workers_.end() ||
                    known->second.changing({request.workers[i].cpu, request.workers[i].memory})))
      return best;
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

bool Steelyard::worth_a_move(const Request& request, const std::vector<Affine>& curves,
                             const Shares& best) const {
  if (!split_.made_for(request)) return true;
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

}  // namespace steelyard::balancing
