#include "balancing/policy/share_bounds.h"

#include "core/check.h"

namespace steelyard::balancing {

std::vector<Bound> share_bounds(const Request& request) {
  CHECK(!request.workers.empty(), "a plan for nobody");
  std::vector<Bound> bounds;
  for (const WorkerView& worker : request.workers) bounds.push_back({worker.least, worker.most});
  return fitted(std::move(bounds), request.positions);
}

}  // namespace steelyard::balancing
