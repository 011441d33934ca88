// A sync mode as one file. Each <name>_mode.cpp of this folder defines an entry: the text of the mode, its
// numbers (protocol/sync_mode.h), its help, and its restrictions. The list of all modes is made from the
// files in the folder (steelyard_table in cmake/steelyard_targets.cmake): a mode is added or removed with its
// file.
//
// Servers and workers use the numbers only: server/shard/close_rule.h, worker/pull_rule.h and
// scheduler/rounds. Restrictions that follow from the numbers are in protocol/sync_limits.h.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/text.h"
#include "protocol/sync_mode.h"

namespace steelyard {

struct ModeEntry {
  unsigned rank = 0;  // position in lists: synchronous modes first, modes with local steps last
  std::vector<SyncForm> forms{};
  // Returns nothing if the text is another mode's.
  std::optional<SyncMode> (*parse)(std::string_view text) = nullptr;
  // The text that parse() reads as this mode. Undefined if the mode is another.
  std::string (*write)(const SyncMode& mode) = nullptr;
  // Texts used by the tests of all modes, with three workers and without compensation (footprints of
  // gradients have none: tests/support/footprints.h).
  std::vector<const char*> tried{};
  // Why the mode is impossible with this number of workers, and the remedy. Empty: possible. Null: any number
  // works.
  std::string (*refuse)(const SyncMode& mode, std::uint64_t workers) = nullptr;
};

using ModeRows = ModeEntry();
std::span<ModeRows* const> mode_files();

// All modes, by rank.
const std::vector<ModeEntry>& mode_entries();

// For parse(): the text after the name, if it begins with that; and a whole number within limits.
inline std::optional<std::string_view> after(std::string_view name, std::string_view text) {
  return text.starts_with(name) ? std::optional(text.substr(name.size())) : std::nullopt;
}
inline std::optional<std::uint64_t> number_from(std::string_view text, std::uint64_t min, std::uint64_t max) {
  const auto value = number_in<std::uint64_t>(text);
  return value && *value >= min && *value <= max ? value : std::nullopt;
}

// Shared by modes that average the results of local steps.
inline constexpr std::uint64_t max_local_steps = 1 << 20;  // in a round
inline constexpr std::string_view equal_weights_suffix = ":equal";

// Shared by modes in which workers take pieces as they become free and pushes are applied on arrival.
inline SyncMode asynchronous() {
  return {.slack = most_open_rounds - 1, .on_arrival = true, .divide_by_push = true, .on_demand = true};
}

}  // namespace steelyard
