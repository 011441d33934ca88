#include "scheduler/rounds/headway.h"

namespace steelyard {
namespace {

// Of a worker whose shards all answer: reading data for the first time, or one micro-batch of a large model
// on a slow processor, may well take longer than a heartbeat may be late.
constexpr int patient = 6;    // times the silence after which a member is lost
constexpr int exceeding = 4;  // times the longest standstill that ended by itself

}  // namespace

void Headway::heard(Time now, const WorkerBeat& beat) {
  if (beat.held.empty()) {
    moved_ = now;
  } else if (beat.progress != progress_) {
    if (moved_ != Time{}) longest_ = std::max(longest_, now - moved_);
    moved_ = now;
  }
  progress_ = beat.progress;
  unreached_ = beat.unreached;
  if (unreached_.empty()) {
    cut_off_since_.reset();
  } else if (!cut_off_since_) {
    cut_off_since_ = now;
  }
}

void Headway::interrupted(Time now) {
  moved_ = now;
  if (cut_off_since_) cut_off_since_ = now;
}

bool Headway::too_long(Duration standstill, Time now, Duration dead) const {
  if (cut_off(now) > dead) return standstill > dead;
  return standstill > std::max<Duration>(patient * dead, exceeding * longest_);
}

}  // namespace steelyard
