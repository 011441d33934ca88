// Retry timeout of a pull.
//
// Links report lost connections, so only a full socket loses a request silently. An answer may take minutes
// on a slow link, and every retry sends it again. Hence: twice the longest recent pull, at least 1 s. A pull
// begins when its version can exist: when it is asked for, or when a piece that needs it is given out. Every
// slice that arrives restarts the timeout, every retry doubles it, and what was learnt fades with every
// version.
#pragma once

#include <algorithm>

#include "core/time.h"

namespace steelyard {

class PullTimeout {
 public:
  static constexpr Duration least = std::chrono::seconds(1);
  static constexpr Duration most_doubled = std::chrono::seconds(64), most_learnt = std::chrono::minutes(10);

  // Something new was asked for.
  void asked(Time now) {
    pause_ = {};
    can_come(now);
  }
  // It was not to be had before; or what was on its way is known to be gone, and it was asked for again.
  void can_come(Time now) {
    begun_ = now;
    go_on(now);
  }
  // A part of it is here.
  void came(Time now) {
    pause_ = std::max(pause_, now - came_);
    go_on(now);
  }
  // All of it is.
  void whole(Time now) { longest_ = std::max(now - begun_, longest_ * 3 / 4); }

  [[nodiscard]] bool over(Time now) const { return now - asked_ > timeout_; }
  void asked_again(Time now) {
    asked_ = now;
    timeout_ = std::min(2 * timeout_, std::max(timeout_, most_doubled));
  }

 private:
  void go_on(Time now) {
    came_ = asked_ = now;
    timeout_ = std::clamp(2 * std::max(longest_, pause_), least, most_learnt);
  }

  Time begun_{}, came_{}, asked_{};
  Duration timeout_ = least;
  Duration pause_{};    // the longest between two parts of this pull
  Duration longest_{};  // of recent ones
};

}  // namespace steelyard
