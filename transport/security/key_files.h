// Keys in files (protocol/keys.h): a directory of them that people keep, or one file that a launcher hands
// over.
//
//   DIR/allowed    who may take part: the allow-list
//   DIR/NAME.key   a secret key, of this machine
//
// What others could read or write is refused: the directory and its files belong to this process's user (or
// to root) and nobody else may write there; no file is reached through a symbolic link; secret keys have
// mode 0600 or less. Directories above are the user's affair. A single file may be reached in any way, as
// by /proc/self/fd/N; whose it is and its mode count as well.
//
// All throw Failure: (configuration) for what is there, (io) for what cannot be written.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "protocol/keys.h"

namespace steelyard {

KeyPair make_key(KeyRole role, const std::string& name);
// Whether the two belong together.
bool belongs_to(const KeyPair& pair);

struct Keys {
  KeyPair own;
  AllowList allowed;
  std::string directory;  // where the list is; empty: in the file, and never another
};

// Of a process of this role and name: its key is NAME.key, or ROLE.key, which several may share.
Keys load_keys(const std::string& path, KeyRole role, const std::string& name);

// What the file looks like from outside: changes whenever it is written or replaced. "" if it cannot be seen.
std::string stamp_of_allowed(const std::string& directory);
AllowList read_allowed(const std::string& directory);  // empty if there is no such file

void make_key_directory(const std::string& directory);  // unless it is there
// The directory is made if it is not there. A key of that name is never overwritten: if several processes
// write one at once, the first succeeds and the others throw.
void write_key(const std::string& directory, const KeyPair& pair);
void remove_key(const std::string& directory, const std::string& name);
void write_allowed(const std::string& directory, const AllowList& list);  // whole, or not at all
// Reads the list, changes it and writes it; who else changes it meanwhile, by this function, waits. If
// `change` throws, it stays as it is.
void change_allowed(const std::string& directory, const std::function<void(AllowList&)>& change);
// Throws Failure (usage) for a name that is none of a file.
void check_key_name(const std::string& name);

}  // namespace steelyard
