// HeldAnswers: messages of a scheduler that may not leave its process yet, because the records of the journal
// that they follow from are not everywhere where they have to be (scheduler/recovery/journaled.h).
//
// Positions are bytes of the journal. Messages leave in the order in which they came. There is room for a
// limited number of messages. The class drops what comes beyond, as a line drops what its receiver does not
// take: members ask again for everything that they miss.
//
// Pure; part of a Journaled scheduler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "protocol/machine.h"

namespace steelyard {

class HeldAnswers {
 public:
  static constexpr std::size_t usual_room = 1 << 16;  // messages: some tens of megabytes

  explicit HeldAnswers(std::size_t room = usual_room) : room_(room) {}

  // These follow from the first `after` bytes of the journal, which never becomes less.
  void hold(std::vector<Envelope> messages, std::uint64_t after);
  // Those that follow from the first `have` bytes leave.
  void release(std::uint64_t have, Outbox& out);
  void drop_all();
  [[nodiscard]] bool empty() const { return held_.empty(); }

 private:
  struct Held {
    std::uint64_t after = 0;
    std::vector<Envelope> messages;
  };

  const std::size_t room_;
  std::size_t count_ = 0;  // messages in `held_`
  std::deque<Held> held_;
};

}  // namespace steelyard
