#include "app/tools/keys_command.h"

#include <algorithm>
#include <cstdio>

#include "core/error.h"
#include "transport/security/key_files.h"

namespace steelyard {
namespace {

KeyRole role_of(const std::string& text) {
  if (const auto role = key_role(text)) return *role;
  refuse_usage("'" + text + "' is not a role: give scheduler, server or worker");
}

// Adds a key to the list; names and keys are unique.
void enter(AllowList& list, const std::string& directory, const std::string& key, const Allowed& who) {
  for (const auto& [other, allowed] : list) {
    if (allowed.name == who.name && other != key)
      refuse_usage(directory + " has another key named '" + who.name +
                   "': `steelyard keys revoke` it first, or give another name");
  }
  list.insert_or_assign(key, who);
}

// Holds the lock of the list throughout. On an error, removes only the file that this call has created.
void make_new(const KeysCommand& command) {
  const KeyRole role = role_of(command.role);
  const std::string name = command.name.empty() ? command.role : command.name;
  if (!command.key.empty()) refuse_usage("keys new makes the key itself: leave it out, or use keys add");
  check_key_name(name);
  make_key_directory(command.directory);
  const KeyPair pair = make_key(role, name);
  bool written = false;
  try {
    change_allowed(command.directory, [&](AllowList& list) {
      write_key(command.directory, pair);
      written = true;
      enter(list, command.directory, pair.public_key, {role, name});
    });
  } catch (...) {  // the list has another key of that name, or could not be written: this key is not in use
    if (written) remove_key(command.directory, name);
    throw;
  }
  std::printf("%s\n", allow_line(pair.public_key, {role, name}).c_str());
}

void add(const KeysCommand& command) {
  const KeyRole role = role_of(command.role);
  if (!is_key(command.key))
    refuse_usage(
        "keys add needs the name and the public key: 40 characters, in quotes, as `steelyard keys list` "
        "prints them on the machine of the key");
  check_key_name(command.name);
  change_allowed(command.directory, [&](AllowList& list) {
    enter(list, command.directory, command.key, {role, command.name});
  });
}

void revoke(const KeysCommand& command) {
  if (!command.name.empty()) refuse_usage("keys revoke takes the directory and the name of a key");
  const std::string& name = command.role;  // the third argument
  change_allowed(command.directory, [&](AllowList& list) {
    const auto gone = std::erase_if(list, [&](const auto& it) { return it.second.name == name; });
    if (gone == 0)
      refuse_usage(command.directory + " has no key named '" + name +
                   "': `steelyard keys list` prints the names");
  });
}

void show(const KeysCommand& command) {
  if (!command.role.empty()) refuse_usage("keys list takes only a directory");
  AllowList list = read_allowed(command.directory);
  std::vector<std::string> lines;
  for (const auto& [key, allowed] : list) lines.push_back(allow_line(key, allowed));
  std::ranges::sort(lines);
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
}

}  // namespace

void run_keys(const KeysCommand& command) {
  if (command.action == "new") {
    make_new(command);
  } else if (command.action == "add") {
    add(command);
  } else if (command.action == "revoke") {
    revoke(command);
  } else {
    show(command);
  }
}

}  // namespace steelyard
