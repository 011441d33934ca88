// Headway: whether a worker gets on with what it owes, as its heartbeats tell.
//
// A worker may be alive and still not get on: a server that it cannot reach, data that cannot be read. Its
// heartbeats count the slices that arrive and the micro-batches that are done; while that count stands still
// although there is something to do, it makes no headway. How long is too long depends on the machine, so the
// longest standstill that ended by itself is kept.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "core/time.h"
#include "protocol/messages.h"

namespace steelyard {

class Headway {
 public:
  void heard(Time now, const WorkerBeat& beat);
  // Nothing could be heard until now: that was no standstill.
  void interrupted(Time now);

  // How long it has stood still, if what it owes could be done from `possible` on.
  [[nodiscard]] Duration standstill(Time now, Time possible) const {
    return now - std::max(moved_, possible);
  }
  // Whether so long a standstill is too long, where members that are silent for `dead` are lost.
  [[nodiscard]] bool too_long(Duration standstill, Time now, Duration dead) const;
  // For so long some shards have not answered it, in spite of being asked again and again. Zero: all do.
  [[nodiscard]] Duration cut_off(Time now) const {
    return cut_off_since_ ? now - *cut_off_since_ : Duration{};
  }
  [[nodiscard]] const std::vector<NodeId>& unreached() const { return unreached_; }

 private:
  friend struct SchedulerFields;
  std::uint64_t progress_ = 0;
  Time moved_{};        // when it last made headway, or had nothing to do
  Duration longest_{};  // standstill that ended by itself
  std::vector<NodeId> unreached_;
  std::optional<Time> cut_off_since_;
};

}  // namespace steelyard
