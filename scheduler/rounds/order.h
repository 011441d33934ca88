// Order: a decision of a class of the scheduler, as a value. Only Training::apply() executes orders.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "protocol/messages.h"

namespace steelyard {

// The worker in this slot owes a piece; also sent again if the first message was lost.
struct Assign {
  std::uint32_t slot = 0;
  Start start;
};
// The worker in this slot computes a piece only to measure its time.
struct Measure {
  std::uint32_t slot = 0;
  TryOut trial;
};
// Requests that the worker in this slot pushes a piece again.
struct AskAgain {
  std::uint32_t slot = 0;
  Resend again;
};
// Requests that the worker in this slot ends a piece sooner.
struct Shorten {
  std::uint32_t slot = 0;
  Cut cut;
};
// The worker in this slot gets no pieces for some rounds after this one, if other workers are available.
struct Rest {
  std::uint32_t slot = 0;
  Round round = 0;
};
struct Remark {  // for users
  std::string text;
};
struct EndJob {
  Outcome outcome = Outcome::finished;
  std::string text;
};

using Order = std::variant<Assign, Measure, AskAgain, Shorten, Rest, Remark, EndJob>;
using Orders = std::vector<Order>;  // in order of execution

}  // namespace steelyard
