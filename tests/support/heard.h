// What a machine said, for tests that hold one in their hands.
#pragma once

#include <type_traits>
#include <variant>
#include <vector>

#include "protocol/machine.h"

namespace steelyard::test {

// All messages of a kind, whomever they are for.
template <class Said>
std::vector<Said> heard(const std::vector<Envelope>& envelopes) {
  std::vector<Said> found;
  for (const Envelope& envelope : envelopes) {
    std::visit(
        [&]<class Receiver>(const Receiver& receiver) {
          if constexpr (std::is_constructible_v<Receiver, Said>) {
            if (const Said* it = std::get_if<Said>(&receiver)) found.push_back(*it);
          }
        },
        envelope.message);
  }
  return found;
}

}  // namespace steelyard::test
