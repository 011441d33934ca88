// Which key may speak as which role, and which role may send which message: the `senders` beside its fields
// (protocol/messages.h). Links drop and count all others, so that no machine has to check.
#pragma once

#include "protocol/keys.h"
#include "protocol/machine.h"

namespace steelyard {

// Whether who holds such a key may say of itself to be such a node. The checkpointer lives beside the
// scheduler.
bool may_be(KeyRole key, Role node);

// Whether a node of that role may say this to us over a wire.
bool may_say(Role speaker, const Message& message);

}  // namespace steelyard
