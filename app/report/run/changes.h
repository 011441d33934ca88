// What changed when: what the run was told to say (workers that came, left and were lost, resumptions), and
// when work moved from one worker to another, with the measured speeds that were behind it. Pure.
#pragma once

#include <string>
#include <vector>

#include "app/report/run/run_record.h"

namespace steelyard {

struct Change {
  double at = 0;       // seconds
  bool moved = false;  // shares did; else something was said
  std::string what, why;
};

struct Changes {
  std::vector<Change> list;  // in the order of time
  std::size_t left_out = 0;  // of moves, the smaller ones; of what was said, those in the middle
};

// A move is told when shares differ from those told last by a twentieth of the round or more.
// Where there is no barrier workers take what they can, and nobody moves work.
Changes changes_of(const RunRecord& record, bool barrier = true, std::size_t most = 60);

}  // namespace steelyard
