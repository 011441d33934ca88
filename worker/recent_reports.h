// RecentReports: what a worker has reported last, to be said again when the connection to the scheduler was
// lost, and the report perhaps with it.
//
// A piece may be forgotten by then: its pushes were in, so the next version came. The scheduler would learn
// of the round's end from the shards alone, wait for the report in vain, and have no record of this part.
#pragma once

#include <algorithm>
#include <cstddef>
#include <deque>
#include <vector>

#include "protocol/machine.h"
#include "worker/held_piece.h"

namespace steelyard {

class RecentReports {
 public:
  static constexpr std::size_t kept = 32;

  void add(const Report& report) {
    reports_.push_back(report);
    if (reports_.size() > kept) reports_.pop_front();
  }
  // Those of pieces that are still held, however many, and the last of the others.
  void repeat(const std::vector<HeldPiece>& held, Outbox& out) const {
    const auto is_held = [&](const Report& it) {
      return std::ranges::find(held, it.piece.id, &HeldPiece::id) != held.end();
    };
    for (const Report& it : reports_) {
      if (!is_held(it)) out.send<ToScheduler>(scheduler_node, it);
    }
    for (const HeldPiece& piece : held) {
      if (piece.report) out.send<ToScheduler>(scheduler_node, *piece.report);
    }
  }

 private:
  std::deque<Report> reports_;  // oldest first
};

}  // namespace steelyard
