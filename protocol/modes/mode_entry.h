// A sync mode as one file. Each <name>_mode.cpp of this folder defines an entry: the text of the mode, its
// numbers (protocol/sync_mode.h), its help, and its restrictions. CMake generates the list of all modes from
// the files in the folder (steelyard_table in cmake/steelyard_targets.cmake), so adding or removing a file
// adds or removes a mode.
//
// The code that uses the numbers: server/shard/close_rule.h, worker/pull_rule.h and scheduler/rounds.
// Restrictions that follow from the numbers are in protocol/sync_limits.h.
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
  // Returns std::nullopt if the text is not this mode's.
  std::optional<SyncMode> (*parse)(std::string_view text) = nullptr;
  // The text that parse() reads as `mode`, which must be this mode.
  std::string (*write)(const SyncMode& mode) = nullptr;
  // Texts for the tests of all modes: with three workers, and without compensation, which those tests cannot
  // check (tests/support/footprints.h).
  std::vector<const char*> tried{};
  // Returns why the mode is impossible with this number of workers, and the remedy; empty if it is possible.
  // Null: any number of workers is possible.
  std::string (*refuse)(const SyncMode& mode, std::uint64_t workers) = nullptr;
};

using ModeRows = ModeEntry();
std::span<ModeRows* const> mode_files();

// All modes, by rank.
const std::vector<ModeEntry>& mode_entries();

// For parse(): the text after `name`, if it begins with that; and a whole number within limits. Otherwise
// std::nullopt.
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
