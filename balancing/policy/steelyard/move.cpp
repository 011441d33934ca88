#include "balancing/policy/steelyard/move.h"

#include <algorithm>

#include "balancing/allocate/min_max.h"
#include "balancing/policy/share_bounds.h"

namespace steelyard::balancing {
namespace {

constexpr double one_round = 0.05;  // of a share: as far as it moves on the word of one round

}  // namespace

const Split& Move::to(const Request& request, const std::vector<Affine>& curves,
                      const std::vector<Known>& known, Shares best) {
  Shares next = held_back(request, curves, known, best);
  wish_ = Split::of(request, std::move(best));
  if (worth_it(request, curves, known, next)) split_ = Split::of(request, std::move(next));
  return split_;
}

// The best split as far as the round before wanted it too, and a twentieth of each share beyond.
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
  // The slowest of many is the one whose time was overestimated most, so the largest doubt counts. It is the
  // doubt about the shares as they are: where the new ones lead is only learned by going there.
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

void Move::save(StateWriter& writer) const {
  split_.save(writer);
  wish_.save(writer);
}

void Move::restore(StateReader& reader) {
  split_.restore(reader);
  wish_.restore(reader);
}

}  // namespace steelyard::balancing
