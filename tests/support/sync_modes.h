// The sync modes that tests run, in one table. A mode that sync_forms() has and the table has not fails
// SyncModes.EveryFormIsRun (tests/hosts/host_modes_test.cpp), so no mode is left out of the tests of all
// modes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "protocol/sync_mode.h"

namespace steelyard::test {

// For three workers. Where gradients are footprints (tests/support/footprints.h) nothing may be compensated:
// hence dc-asgd with a lambda of 0.
inline const std::vector<const char*>& sync_modes() {
  static const std::vector<const char*> modes{"bsp",       "flexrr",         "backup:1",
                                              "backup:2",  "ssp:1",          "ssp:3",
                                              "asp",       "dc-asgd:0",      "dc-asgd:adaptive:0",
                                              "nsoft:1",   "nsoft:2",        "ksoft:2",
                                              "ksoft:3",   "eager",          "local:1",
                                              "local:3",   "oneshot:epoch",  "oneshot:end",
                                              "diloco:1",  "diloco:4",       "mll:1:1:1",
                                              "mll:2:2:2", "mll:2:3:3:line", "orchestra"};
  return modes;
}

// The same and what is another way to write or to weigh one of them.
inline const std::vector<const char*>& sync_modes_in_all_forms() {
  static const std::vector<const char*> modes = [] {
    std::vector<const char*> all = sync_modes();
    for (const char* more :
         {"ssp:0", "local:1:equal", "local:3:equal", "oneshot:epoch:equal", "oneshot:end:equal"})
      all.push_back(more);
    return all;
  }();
  return modes;
}

// Whether `mode` is of this form, "ssp:2" of "ssp:S": a form begins with what stays, up to its first capital.
inline bool is_of(std::string_view form, std::string_view mode) {
  std::string_view name = form.substr(0, form.find_first_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ"));
  if (name.ends_with(':')) name.remove_suffix(1);
  return mode == name || (mode.starts_with(name) && mode[name.size()] == ':');
}

// The forms of sync_forms() that none of these modes is of.
inline std::vector<std::string> forms_without(const std::vector<const char*>& modes) {
  std::vector<std::string> missing;
  for (const SyncForm& form : sync_forms()) {
    bool found = false;
    for (const char* mode : modes) found = found || is_of(form.text, mode);
    if (!found) missing.push_back(form.text);
  }
  return missing;
}

}  // namespace steelyard::test
