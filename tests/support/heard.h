// The messages that a state machine under test has sent.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "protocol/machine.h"

namespace steelyard::test {

// All messages of this type, to any receiver.
template <class Content>
std::vector<Content> heard(const std::vector<Envelope>& envelopes) {
  std::vector<Content> found;
  for (const Envelope& envelope : envelopes) {
    std::visit(
        [&]<class Receiver>(const Receiver& receiver) {
          if constexpr (std::is_constructible_v<Receiver, Content>) {
            if (const Content* it = std::get_if<Content>(&receiver)) found.push_back(*it);
          }
        },
        envelope.message);
  }
  return found;
}

}  // namespace steelyard::test
