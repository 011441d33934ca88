#include "server/shard/saved_versions.h"

namespace steelyard {

void SavedVersions::keep(const SliceMemory& slice, std::uint32_t number) {
  std::vector<State>& kept = kept_[slice.version()][number];
  for (std::uint32_t slot = 0; slot < slots_; ++slot)
    kept.push_back({slice.version(), number, slot, slice.steps(), slice.copy_of(slot)});
}

void SavedVersions::forget(Version version) {
  kept_.erase(kept_.begin(), kept_.upper_bound(version));
  if (!gathered_ || *gathered_ > version) return;
  gathered_.reset();
  awaited_.clear();
}

void SavedVersions::gather(Version version) {
  if (gathered_ != version) awaited_.clear();
  gathered_ = version;
}

SavedVersions::Part SavedVersions::part(StatePart part, const SliceMemory& slice, bool state_changes) {
  const Version version = gathered_.value();
  const auto [number, slot] = part;
  if (const auto kept = kept_.find(version); kept != kept_.end() && kept->second.contains(number))
    return kept->second.at(number).at(slot);
  if (slice.loaded() && slice.version() == version)
    return State{version, number, slot, slice.steps(), slice.copy_of(slot)};
  // A job that ends within a round saves the preceding version, although this slice may have closed the
  // round. The preceding parameters are still here; optimizer state has been overwritten.
  if (!state_changes && slice.version() == version + 1 && slice.previous()) {
    return State{version, number, slot, slice.steps() - 1, *slice.previous()};
  }
  if (slice.version() > version) return VersionExpired{version, slice.version()};
  awaited_.insert(part);
  return {};
}

std::vector<StatePart> SavedVersions::take_awaited(std::uint32_t slice) {
  std::vector<StatePart> parts;
  for (std::uint32_t slot = 0; slot < slots_; ++slot) {
    if (awaited_.erase({slice, slot}) > 0) parts.push_back({slice, slot});
  }
  return parts;
}

}  // namespace steelyard
