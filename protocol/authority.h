// Which key may act as which role, and which role may send which message (`senders` in protocol/messages.h).
// Links drop and count all other messages, so machines need no checks.
#pragma once

#include "protocol/keys.h"
#include "protocol/machine.h"

namespace steelyard {

// Whether the holder of a key of this role may run this node. The checkpointer shares the scheduler's key.
bool may_be(KeyRole key, Role node);

// Whether a node of that role may send this message over a connection.
bool may_say(Role speaker, const Message& message);

}  // namespace steelyard
