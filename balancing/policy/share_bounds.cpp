#include "balancing/policy/share_bounds.h"

#include <algorithm>

#include "core/check.h"

namespace steelyard::balancing {

std::vector<Bound> share_bounds(const Request& request) {
  CHECK(!request.workers.empty(), "a plan for nobody");
  std::vector<Bound> bounds;
  for (const WorkerView& worker : request.workers) bounds.push_back({worker.least, worker.most});
  return fitted(std::move(bounds), request.positions);
}

std::vector<Bound> share_bounds(const Request& request, const std::set<std::uint32_t>& resting) {
  Request awake = request;
  std::uint64_t most = 0;
  for (WorkerView& worker : awake.workers) {
    if (may_rest(worker) && resting.contains(worker.slot)) worker.least = worker.most = 0;
    most += std::min(worker.most, most_positions);
  }
  return share_bounds(most >= request.positions ? awake : request);
}

std::vector<Bound> with_rest(const Request& request, std::vector<Bound> bounds) {
  for (std::size_t i = 0; i < bounds.size(); ++i) {
    if (may_rest(request.workers[i])) bounds[i].least = 0;
  }
  return bounds;
}

// A minimum that somebody wished for is a wish not to rest.
bool may_rest(const WorkerView& worker) { return worker.may_rest && worker.least <= 1; }

}  // namespace steelyard::balancing
