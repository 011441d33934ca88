// The keys of a process, from where its options say they are.
#pragma once

#include <memory>
#include <string>

#include "transport/security/trust.h"

namespace steelyard {

// From then on no core file has this process's memory in it, and unless it lends some to others
// (transport/shared_memory/lending.h), they cannot look into it either.
void keep_memory_closed(bool lends);

// Null where `keys` is empty: plain text. Otherwise memory is kept closed, too. Says whom it refuses on
// standard error. Throws Failure, as load_keys().
std::unique_ptr<Trust> trust_for(const std::string& keys, KeyRole role, const std::string& name, bool lends);

}  // namespace steelyard
