// CheckSchedule: which pieces of an engine are checked (worker/compute/checked_engine.h). The first, and then
// one in 1024, but no sooner than 200 times the cost of the last check: fast devices compute 1024 pieces in
// seconds, and a check takes seconds of a processor. After a check that exceeded its limit, the next piece.
#pragma once

#include <cstdint>

#include "core/time.h"

namespace steelyard {

class CheckSchedule {
 public:
  static constexpr std::uint64_t pieces_between = 1024;
  static constexpr int costs_between = 200;

  // Whether to check the piece that begins now; for a piece that is not checked, pass() follows.
  [[nodiscard]] bool due(Time now) const { return pieces_left_ == 0 && now >= earliest_; }
  void begin() { pieces_left_ = pieces_between - 1; }
  void pass() { pieces_left_ -= pieces_left_ > 0 ? 1 : 0; }

  // The result of a check.
  void within_limit(Time now, Duration cost) { earliest_ = now + costs_between * cost; }
  void beyond_limit() { pieces_left_ = 0; }

 private:
  std::uint64_t pieces_left_ = 0;
  Time earliest_{};
};

}  // namespace steelyard
