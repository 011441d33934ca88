#include "protocol/session.h"

#include <algorithm>

namespace steelyard {

void Session::welcomed(Time now, Duration beat, Duration heartbeat_timeout) {
  joined_ = true;
  timeout_.beat = beat;
  timeout_.wait = std::max(timeout_.wait, heartbeat_timeout);
  last_heard_ = now;
  next_ = now;
}

bool Session::due(Time now) {
  if (!started_) {
    started_ = true;
    last_heard_ = now;
  }
  if (now < next_) return false;
  next_ = now + timeout_.beat;
  return true;
}

bool Session::given_up(Time now) const { return started_ && now - last_heard_ > timeout_.wait; }

}  // namespace steelyard
