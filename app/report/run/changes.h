// Events of a run in groups: moves of work from one worker to another, with the measured speeds behind them,
// and the recorded notes (joins, losses, checkpoints, resumptions). Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

enum class ChangeKind { move, worker, server, checkpoint, job };

struct Change {
  double at = 0;  // seconds
  ChangeKind kind = ChangeKind::job;
  std::string what, why;
};

struct Changes {
  std::vector<Change> list;  // in the order of time
  std::size_t left_out = 0;  // smaller moves, and notes in the middle of a kind
};

// A move counts if the shares differ from those of the last move by 5 % of the round or more. Without a
// barrier workers take samples as they can, so no work is moved. `most`: of each kind.
Changes changes_of(const RunRecord& record, bool barrier = true, std::size_t most = 30);

}  // namespace steelyard
