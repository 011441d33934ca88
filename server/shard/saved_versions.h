// SavedVersions: the versions that a shard keeps for the checkpointer, which fetches them part by part during
// later rounds.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <variant>
#include <vector>

#include "protocol/messages.h"
#include "server/shard/slice_memory.h"

namespace steelyard {

class SavedVersions {
 public:
  // `slots` of state for each slice, parameters included.
  explicit SavedVersions(std::uint32_t slots) : slots_(slots) {}

  // Keeps the current version of slice `number`: parameters by reference, because a version never changes,
  // and a copy of the optimizer state.
  void keep(const SliceMemory& slice, std::uint32_t number);
  // Drops all versions up to this one, which are saved.
  void forget(Version version);

  [[nodiscard]] bool keeps_any() const { return !kept_.empty() || gathered_; }

  // The checkpointer now fetches this version.
  void gather(Version version);
  [[nodiscard]] std::optional<Version> gathered() const { return gathered_; }
  // Returns a part of that version; VersionExpired if it is no longer kept; or monostate if its slice has not
  // closed that round, and then remembers the part. `state_changes`: versions include optimizer state.
  using Part = std::variant<std::monostate, State, VersionExpired>;
  Part part(StatePart part, const SliceMemory& slice, bool state_changes);
  // Removes and returns the remembered parts of this slice.
  std::vector<StatePart> take_awaited(std::uint32_t slice);

 private:
  const std::uint32_t slots_;
  std::map<Version, std::map<std::uint32_t, std::vector<State>>> kept_;  // by slice, then slot
  std::optional<Version> gathered_;
  std::set<StatePart> awaited_;
};

}  // namespace steelyard
