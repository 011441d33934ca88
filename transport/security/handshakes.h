// Handshakes: what becomes of the attempts of an outward connection to be let in, and the end of patience: a
// sentence that says why, and what to do. libzmq itself tries for ever, or gives up without a word.
#pragma once

#include <optional>
#include <string>

#include "transport/zmq_socket.h"

namespace steelyard {

class Handshakes {
 public:
  struct Place {  // for messages
    std::string who, address;
    bool keyed;  // whether this end uses keys
  };

  // An event of the connection's monitor. Why the other side is not to be reached, if that is known now: a
  // key that is not let in, another key than is expected there, or keys at one end only.
  [[nodiscard]] std::optional<std::string> hear(const SocketEvent& event, const Place& place);
  // The last attempt failed before anything was said: libzmq tries again, and nothing is lost.
  [[nodiscard]] bool goes_on() const { return keyed_ && failed_ > 0; }

 private:
  // One may fail because the other side has just ended; libzmq waits a tenth of a second, then twice as long.
  static constexpr int most_failed = 5;

  bool keyed_ = false;
  int failed_ = 0;  // in a row
};

}  // namespace steelyard
