// Who may say what: a message is believed only from the role whose business it is. Links drop (and count) the
// rest, so that no machine has to ask.
#pragma once

#include "wire/machine.h"

namespace steelyard {

// Whether a node of that role may say this to us over a wire.
bool may_say(Role speaker, const Message& message);

}  // namespace steelyard
