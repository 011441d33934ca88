#include "balancing/oracle.h"

#include "balancing/allocate/split.h"
#include "balancing/state.h"

namespace steelyard::balancing {
std::vector<std::uint64_t> Oracle::plan(const Request& request) {
  std::vector<Curve> curves;
  for (const WorkerView& worker : request.workers) {
    curves.push_back([curve = truth_(worker.slot, request.round),
                      grain = request.grain](std::uint64_t grains) { return curve(grains * grain); });
  }
  return min_max(curves, with_rest(request, share_bounds(request)), request.positions);
}

}  // namespace steelyard::balancing
