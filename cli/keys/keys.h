// `steelyard keys`: key pairs, and the list of who may take part (transport/security/key_files.h).
#pragma once

#include "cli/command_line.h"

namespace steelyard {

int run_keys(const KeysCommand& command);

}  // namespace steelyard
