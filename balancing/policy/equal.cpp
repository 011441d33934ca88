#include "balancing/policy/equal.h"

#include "balancing/allocate/largest_remainder.h"
#include "balancing/allocate/split.h"
#include "balancing/policies.h"
#include "balancing/state.h"

namespace steelyard::balancing {
namespace {

constexpr char equal_title[] = "equal.1";

}  // namespace

std::vector<std::uint64_t> Equal::plan(const Request& request) {
  return largest_remainder(std::vector<double>(request.workers.size(), 1.0), request.positions,
                           share_bounds(request));
}

// There is no state, but a checkpoint still says whose it is: a job resumed with another policy should hear
// of it.
std::string Equal::save() const { return StateWriter(equal_title).str(); }

void Equal::restore(const std::string& text) { StateReader(text, equal_title).end(); }

PolicyTable equal_rows(const PredictorTable&) {
  return {{"equal", [](const Options&) { return std::make_unique<Equal>(); },
           "everybody gets the same: ordinary synchronous SGD"}};
}

}  // namespace steelyard::balancing
