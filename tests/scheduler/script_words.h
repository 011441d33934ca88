// Messages of the scheduler in words, for transcripts.
#pragma once

#include <string>

#include "protocol/machine.h"

namespace steelyard::test {

std::string node_word(NodeId node);              // "w1", "s1", "k"
NodeId node_of_word(const std::string& word);    // throws std::runtime_error
std::string in_words(const Envelope& envelope);  // "w1 <- Start round 0 piece 1 [0, 16)"

}  // namespace steelyard::test
