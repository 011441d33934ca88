#include "balancing/policy/equal.h"

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/state.h"

namespace steelyard::balancing {
std::vector<std::uint64_t> Equal::plan(const Request& request) {
  return largest_remainder(std::vector<double>(request.workers.size(), 1.0), request.positions,
                           share_bounds(request));
}

PolicyTable equal_rows(const PredictorTable&) {
  return {{"equal", [](const Options&) { return std::make_unique<Equal>(); },
           "equal shares for all workers: ordinary synchronous SGD"}};
}

}  // namespace steelyard::balancing
