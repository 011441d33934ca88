// The line between two hosts, for `steelyard doctor`: whether a connection can be made, how long one byte
// needs for the way there and back, and how fast bytes pass in each direction. LineEnd listens on one host,
// measure_line() connects from the other.
//
// A connection begins with a token that only this doctor knows; LineEnd closes any other. It answers one
// connection after the other, and waits five seconds at most for each piece of one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "transport/address.h"

namespace steelyard {

class LineEnd {
 public:
  // Port "0": any free one. Throws Failure (configuration) if it cannot listen there: the endpoint, the
  // reason and the remedy.
  LineEnd(const HostPort& place, const std::string& token);
  ~LineEnd();
  LineEnd(const LineEnd&) = delete;
  LineEnd& operator=(const LineEnd&) = delete;

  [[nodiscard]] unsigned port() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

struct LineSpeed {
  double round_trip_s = 0;                     // of a byte, the shortest of several
  double there_bytes_s = 0, back_bytes_s = 0;  // 0: not measured
};

// Takes about half a second with `speed`. Throws Failure (unreachable) with the reason and the remedy.
LineSpeed measure_line(const HostPort& to, const std::string& token, bool speed);

}  // namespace steelyard
