#include "worker/compute/load_window.h"

namespace steelyard {

void LoadWindow::look(Time now) {
  if (!recent_.empty() && now - recent_.back().at < step) return;
  recent_.push_back({now, meter_.counters()});
  while (recent_.size() > 2 && now - recent_[1].at >= shortest) recent_.pop_front();
  latest_ = Meter::between(recent_.front().counters, recent_.back().counters);
}

void LoadWindow::begin(Time now) {
  look(now);
  begin_ = recent_.back();
}

Reading LoadWindow::over_all() const {
  if (recent_.empty() || recent_.back().at - begin_.at < shortest) return latest_;
  return Meter::between(begin_.counters, recent_.back().counters);
}

}  // namespace steelyard
