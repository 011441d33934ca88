// How long a worker waits for the version that it pulls before it asks for it again.
//
// Nothing is lost without a word but what a full socket drops, while an answer may take minutes on a slow
// line, and each further question has all of it sent once more. So the patience follows what was seen: it is
// twice what the longest of recent pulls took, pushes before it and waits between two slices included, from
// when its version could come: it was asked for, or a piece that needs it was given out. It is a second at
// least. Whatever comes begins it anew, and each question that is said again doubles it. What was seen fades
// with every version, so that a disturbance is not remembered for ever.
#pragma once

#include <algorithm>

#include "core/time.h"

namespace steelyard {

class PullPatience {
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

  [[nodiscard]] bool over(Time now) const { return now - asked_ > patience_; }
  void asked_again(Time now) {
    asked_ = now;
    patience_ = std::min(2 * patience_, std::max(patience_, most_doubled));
  }

 private:
  void go_on(Time now) {
    came_ = asked_ = now;
    patience_ = std::clamp(2 * std::max(longest_, pause_), least, most_learnt);
  }

  Time begun_{}, came_{}, asked_{};
  Duration patience_ = least;
  Duration pause_{};    // the longest between two parts of this pull
  Duration longest_{};  // of recent ones
};

}  // namespace steelyard
