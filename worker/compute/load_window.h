// LoadWindow: the load of this machine over the recent past.
//
// The kernel counts processor time in ticks of 10 ms, so a share needs a window. latest() covers the last
// 100 to 150 ms before the last look, which is at most 50 ms ago if look() is called often enough; if it was
// called more rarely, the window is longer. over_all() covers the time since begin(), or that window if
// begin() is more recent. Counters are read at most every 50 ms, whatever the number of calls (about 0.1 ms
// each).
//
// Not thread-safe.
#pragma once

#include <deque>

#include "core/time.h"
#include "worker/compute/meter.h"

namespace steelyard {

class LoadWindow {
 public:
  static constexpr Duration step = std::chrono::milliseconds(50), shortest = std::chrono::milliseconds(100);

  explicit LoadWindow(Meter meter = Meter()) : meter_(std::move(meter)) {}

  void look(Time now);   // notes the counters, if the last ones are old enough
  void begin(Time now);  // starts the time of over_all()
  [[nodiscard]] Reading latest() const { return latest_; }
  [[nodiscard]] Reading over_all() const;

 private:
  struct Mark {
    Time at;
    Meter::Counters counters;
  };

  Meter meter_;
  std::deque<Mark> recent_;  // oldest first: the window of the next look
  Mark begin_{};
  Reading latest_;
};

}  // namespace steelyard
