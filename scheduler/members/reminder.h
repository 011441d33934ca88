// Reminder: when it is time for another word about something that lasts: after `first`, and each time after
// twice as long.
#pragma once

#include <algorithm>
#include <optional>

#include "core/time.h"

namespace steelyard {

class Reminder {
 public:
  // Asked again and again, for as long as it lasts; a new Reminder begins anew.
  bool due(Time now, Duration first) {
    if (!since_) {
      since_ = now;
      next_ = first;
    }
    if (now - *since_ < next_) return false;
    next_ *= 2;
    return true;
  }
  [[nodiscard]] Duration lasted(Time now) const { return since_ ? now - *since_ : Duration{}; }
  // Nothing before it has lasted so long.
  void not_before(Duration lasted) { next_ = std::max(next_, lasted); }

 private:
  friend struct SchedulerFields;
  std::optional<Time> since_;
  Duration next_{};
};

}  // namespace steelyard
