// Which role may send which message. Links drop and count all others, so that no machine has to check.
#pragma once

#include "wire/machine.h"

namespace steelyard {

// Whether a node of that role may say this to us over a wire.
bool may_say(Role speaker, const Message& message);

}  // namespace steelyard
