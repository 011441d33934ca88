// Shares in proportion to what each worker can hold at once. It learns nothing.
#include "balancing/policies.h"
#include "balancing/state.h"

namespace steelyard::balancing {
namespace {

constexpr char memory_title[] = "memory.1";

class Memory final : public Policy {
 public:
  void observe(const Sample&) override {}
  std::vector<std::uint64_t> plan(const Request& request) override {
    std::vector<double> room;
    for (const WorkerView& worker : request.workers)
      room.push_back(static_cast<double>(std::min(worker.most, request.positions)));
    return largest_remainder(room, request.positions, share_bounds(request));
  }
  [[nodiscard]] std::string save() const override { return StateWriter(memory_title).str(); }
  void restore(const std::string& text) override { StateReader(text, memory_title).end(); }
};

}  // namespace

PolicyTable memory_rows(const PredictorTable&) {
  return {{"memory", [](const Options&) { return std::make_unique<Memory>(); },
           "shares in proportion to what each worker can hold at once"}};
}

}  // namespace steelyard::balancing
