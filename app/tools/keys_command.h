// `steelyard keys`: manages key pairs and the list of allowed keys (transport/security/key_files.h).
#pragma once

#include <string>

namespace steelyard {

struct KeysCommand {
  std::string action;  // new, add, revoke or list
  std::string directory;
  std::string role;  // for revoke: the name of the key
  std::string name, key;
};

void run_keys(const KeysCommand& command);

}  // namespace steelyard
