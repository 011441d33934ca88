// A message as text for debugging: its name, then its fields in order. Equal messages have equal texts.
#pragma once

#include <string>

#include "protocol/machine.h"

namespace steelyard {

std::string text_of(const Message& message);  // "Start 1 12 3 0 0 512 1024 0 1024 0 1 0 3"; one line

}  // namespace steelyard
