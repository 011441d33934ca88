#include "protocol/sync_mode.h"

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "protocol/modes/mode_entry.h"

namespace steelyard {
namespace {

std::optional<SyncMode> parsed(std::string_view text) {
  for (const ModeEntry& entry : mode_entries()) {
    if (const auto mode = entry.parse(text)) return mode;
  }
  return std::nullopt;
}

// The entry that made the mode, and its text. Null if no entry makes these numbers.
std::pair<const ModeEntry*, std::string> written(const SyncMode& mode) {
  for (const ModeEntry& entry : mode_entries()) {
    std::string text = entry.write(mode);
    if (entry.parse(text) == mode) return {&entry, std::move(text)};
  }
  return {nullptr, "a mode without a name"};
}

}  // namespace

const std::vector<ModeEntry>& mode_entries() {
  static const std::vector<ModeEntry> entries = [] {
    std::vector<ModeEntry> all;
    for (ModeRows* const row : mode_files()) all.push_back(row());
    std::ranges::sort(all, {}, &ModeEntry::rank);
    return all;
  }();
  return entries;
}

SyncMode parse_sync(std::string_view text) {
  if (const auto mode = parsed(text)) return *mode;
  refuse_setup("sync mode '" + std::string(text) + "' does not exist; choose one of " + sync_choices());
}

std::string sync_text(const SyncMode& mode) { return written(mode).second; }

bool is_sync(std::string_view text) { return parsed(text).has_value(); }

std::string sync_trouble(const SyncMode& mode, std::uint64_t workers) {
  const auto [entry, text] = written(mode);
  if (workers == 0 || entry == nullptr || entry->refuse == nullptr) return {};
  const std::string why = entry->refuse(mode, workers);
  return why.empty() ? why : "sync = \"" + text + "\": " + why;
}

const std::vector<SyncForm>& sync_forms() {
  static const std::vector<SyncForm> forms = [] {
    std::vector<SyncForm> all;
    for (const ModeEntry& entry : mode_entries())
      all.insert(all.end(), entry.forms.begin(), entry.forms.end());
    return all;
  }();
  return forms;
}

const std::string& sync_choices() {
  static const std::string text = [] {
    std::string list;
    for (const SyncForm& form : sync_forms()) {
      list += (list.empty() ? "" : ", ") + form.text +
              (form.parameter.empty() ? "" : " (" + form.parameter + ")");
    }
    return list;
  }();
  return text;
}

}  // namespace steelyard
