// Order: what a part of the scheduler has decided, as a value. Training::apply alone carries orders out.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// The worker in this slot owes a piece; also when it is told once more.
struct Assign {
  std::uint32_t slot = 0;
  Start start;
};
// The worker in this slot is asked to push a piece again.
struct AskAgain {
  std::uint32_t slot = 0;
  Resend again;
};
// The worker in this slot is asked to end a piece sooner.
struct Shorten {
  std::uint32_t slot = 0;
  Cut cut;
};
// The worker in this slot gets nothing for some rounds after this one, if others can do without it.
struct Rest {
  std::uint32_t slot = 0;
  Round round = 0;
};
struct Remark {  // for people
  std::string text;
};
struct EndJob {
  Outcome outcome = Outcome::finished;
  std::string text;
};

using Order = std::variant<Assign, AskAgain, Shorten, Rest, Remark, EndJob>;
using Orders = std::vector<Order>;  // in the order in which they are carried out

}  // namespace steelyard
