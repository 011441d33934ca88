// A sync mode as one file. Each <name>_mode.cpp of this folder defines one entry: how the mode is written,
// what its numbers are (protocol/sync_mode.h), what help says of it, and what it refuses. The list of all
// modes is made from the files that are there (steelyard_table in cmake/steelyard_targets.cmake): a mode is
// added with its file, and removed with it.
//
// What servers and workers do follows from the numbers alone: server/shard/close_rule.h, worker/pull_rule.h
// and scheduler/rounds read them. What the numbers rule out, whatever the mode is called, is
// protocol/sync_limits.h.
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
  unsigned rank = 0;  // modes are listed by rank: the synchronous ones first, those with local steps last
  std::vector<SyncForm> forms{};
  // Returns nothing if the text is not this mode.
  std::optional<SyncMode> (*parse)(std::string_view text) = nullptr;
  // The text that parse() reads as this mode. It may be anything if the mode is another.
  std::string (*write)(const SyncMode& mode) = nullptr;
  // Texts that every test of all modes runs, with three workers and without compensation, as footprints of
  // gradients (tests/support/footprints.h) have none.
  std::vector<const char*> tried{};
  // Why so many workers cannot have this mode, and what to do. Empty: they can. Null: any number can.
  std::string (*refuse)(const SyncMode& mode, std::uint64_t workers) = nullptr;
};

using ModeRows = ModeEntry();
std::span<ModeRows* const> mode_files();

// By rank.
const std::vector<ModeEntry>& mode_entries();

// For parse(): what follows the name, if the text begins with it; and a whole number in its limits.
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

// Shared by modes whose workers take pieces as they become free, and whose pushes are applied as they come.
inline SyncMode asynchronous() {
  return {.slack = most_open_rounds - 1, .on_arrival = true, .divide_by_push = true, .on_demand = true};
}

}  // namespace steelyard
