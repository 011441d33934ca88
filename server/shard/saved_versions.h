// SavedVersions: what a shard gives the checkpointer of a version, part by part, while later rounds go on.
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
  // `slots` of state belong to each slice, parameters included.
  explicit SavedVersions(std::uint32_t slots) : slots_(slots) {}

  // Keeps the slice as it is: parameters by reference, since a version never changes, and a copy of the
  // optimizer's state.
  void keep(const SliceMemory& slice, std::uint32_t number);
  // All versions up to this one are safe.
  void forget(Version version);

  [[nodiscard]] bool keeps_any() const { return !kept_.empty() || gathered_; }

  // The checkpointer gathers this version.
  void gather(Version version);
  [[nodiscard]] std::optional<Version> gathered() const { return gathered_; }
  // A part of it: as it was, or past; nothing if its slice has not closed that round. What is still to come
  // is remembered. `state_changes`: a version has state besides the parameters.
  using Part = std::variant<std::monostate, State, VersionExpired>;
  Part part(StatePart part, const SliceMemory& slice, bool state_changes);
  // Parts of this slice that were to come when they were asked for; asking forgets them.
  std::vector<StatePart> take_awaited(std::uint32_t slice);

 private:
  const std::uint32_t slots_;
  std::map<Version, std::map<std::uint32_t, std::vector<State>>> kept_;  // by slice, then slot
  std::optional<Version> gathered_;
  std::set<StatePart> awaited_;
};

}  // namespace steelyard
