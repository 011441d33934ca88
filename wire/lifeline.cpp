#include "wire/lifeline.h"

#include <algorithm>

namespace steelyard {

void Lifeline::welcomed(Time now, Duration beat, Duration dead_after) {
  joined_ = true;
  patience_.beat = beat;
  patience_.wait = std::max(patience_.wait, dead_after);
  last_heard_ = now;
  next_ = now;
}

bool Lifeline::due(Time now) {
  if (!started_) {
    started_ = true;
    last_heard_ = now;
  }
  if (now < next_) return false;
  next_ = now + patience_.beat;
  return true;
}

bool Lifeline::given_up(Time now) const { return started_ && now - last_heard_ > patience_.wait; }

}  // namespace steelyard
