// `steelyard keys`: key pairs, and the list of who may take part (transport/security/key_files.h).
#pragma once

#include <string>

namespace steelyard {

struct KeysCommand {
  std::string action;  // new, add, revoke or list
  std::string directory;
  std::string role;  // of revoke: the name
  std::string name, key;
};

void run_keys(const KeysCommand& command);

}  // namespace steelyard
