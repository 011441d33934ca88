// Keys in files (protocol/keys.h): a key directory kept by users, or one file handed over by a launcher.
//
//   DIR/allowed    the allow-list
//   DIR/NAME.key   a secret key of this machine
//
// Files that others could read or write are refused. The directory and its files must belong to this
// process's user (or to root) and be writable by no other; no file may be reached through a symbolic link;
// secret keys have mode 0600 or less. Parent directories are not checked. A single file may be reached in any
// way, as by /proc/self/fd/N; its owner and mode are checked as well.
//
// All functions throw Failure: (configuration) for bad contents or permissions, (io) for failed writes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "protocol/keys.h"

namespace steelyard {

KeyPair make_key(KeyRole role, const std::string& name);
// Whether public and secret key match.
bool belongs_to(const KeyPair& pair);

struct Keys {
  KeyPair own;
  AllowList allowed;
  std::string directory;  // of the list; empty: it is in the file and never changes
};

// Loads the keys of a process of this role and name: NAME.key, or ROLE.key, which several processes may
// share.
Keys load_keys(const std::string& path, KeyRole role, const std::string& name);

// A stamp of the list's file, which changes whenever it is written or replaced. "" if it cannot be accessed.
std::string stamp_of_allowed(const std::string& directory);
AllowList read_allowed(const std::string& directory);  // empty if there is no such file

void make_key_directory(const std::string& directory);  // if missing
// Creates the directory if missing. An existing key is never overwritten: if several processes write one of
// the same name at once, the first succeeds and the others throw.
void write_key(const std::string& directory, const KeyPair& pair);
void remove_key(const std::string& directory, const std::string& name);
void write_allowed(const std::string& directory, const AllowList& list);  // atomically
// Reads the list, changes it and writes it, under a lock that other callers of this function wait for. If
// `change` throws, the list stays as it is.
void change_allowed(const std::string& directory, const std::function<void(AllowList&)>& change);
// Throws Failure (usage) if the name is not a valid file name.
void check_key_name(const std::string& name);

}  // namespace steelyard
