// The sync modes that tests of all modes run, with three workers: those listed in the modes' own files.
#pragma once

#include <vector>

#include "protocol/modes/mode_entry.h"

namespace steelyard::test {

inline const std::vector<const char*>& sync_modes_in_all_forms() {
  static const std::vector<const char*> modes = [] {
    std::vector<const char*> all;
    for (const ModeEntry& entry : mode_entries())
      all.insert(all.end(), entry.tried.begin(), entry.tried.end());
    return all;
  }();
  return modes;
}

// Without other spellings and the `:equal` forms of the same mode.
inline const std::vector<const char*>& sync_modes() {
  static const std::vector<const char*> modes = [] {
    std::vector<const char*> all;
    for (const char* text : sync_modes_in_all_forms()) {
      const SyncMode mode = parse_sync(text);
      if (sync_text(mode) == text && (!mode.equal_weights || mode.paced)) all.push_back(text);
    }
    return all;
  }();
  return modes;
}

}  // namespace steelyard::test
