#include "sim/witness.h"

#include <cmath>

#include "core/random.h"

namespace steelyard::sim {
namespace {

constexpr std::uint64_t period = 1009;  // of the gradients; a prime, so that no batch is a multiple of it

}  // namespace

Witness::Witness() {
  before_.push_back(0);
  for (std::uint64_t p = 0; p < period; ++p) {
    before_.push_back(before_.back() + static_cast<double>(hash(p) % 17) - 8);
  }
}

double Witness::gradient(Interval positions) const {
  const auto before = [&](Position p) {
    return static_cast<double>(p / period) * before_[period] + before_[p % period];
  };
  return before(positions.end) - before(positions.begin);
}

std::string Witness::look(NodeId node, const Shard& shard) {
  std::vector<Seen>& seen = seen_[node];
  const std::vector<SliceMemory>& slices = shard.slices();
  seen.resize(slices.size());
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const SliceMemory& slice = slices[i];
    auto& [version, value] = seen[i];
    if (!slice.loaded() || slice.version() == version) continue;
    const std::string where = "round " + std::to_string(version) + " on " + to_string(node);
    if (slice.version() != version + 1 || version >= positions_.size())
      return where + ": a version is missing";
    const Interval positions = positions_[version];
    const auto count = static_cast<double>(positions.size());
    const float current = slice.current().floats()[0];
    const double counted = (static_cast<double>(value) - static_cast<double>(current)) * count;
    if (std::abs(counted - gradient(positions)) > 0.25 + 1e-6 * count) {
      return where + ": not every position was counted exactly once";
    }
    ++version;
    value = current;
  }
  return {};
}

}  // namespace steelyard::sim
