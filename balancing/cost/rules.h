// Switches for the rules of `steelyard`. Only the ablation bench turns them off, one at a time, to measure
// their effect (bench/ablation_bench.cpp); docs/policies.md has the table.
#pragma once

namespace steelyard::balancing {

struct Rules {
  // Cost of one worker (cost_filter.h).
  bool fixed_cost = true;     // off: time in proportion to samples
  bool shape_doubt = true;    // a different batch size adds to the uncertainty of the level
  bool loosening = true;      // after a sudden change the uncertainty of the line grows
  bool slow_average = true;   // off: the quick one is always used
  bool quick_average = true;  // off: the slow one is always used
  bool noise_trust = true;    // errors that the level's uncertainty explains are not noise
  bool accidents = true;      // off: every time is followed
  bool known_speeds = true;   // a speed known from before a change is followed at once
  bool history = true;        // if changes have lasted, the next one is followed at once
  bool cold_start = true;     // a first batch twice as slow as the second is dropped
  bool cpu_signal = true, memory_signal = true;
  // The split.
  bool links = true;         // a slow link leaves less time to compute
  bool link_changes = true;  // two waits that agree are a change of the link
  bool rest = true;          // a worker that only delays rests
  bool rest_doubt = true;    // but only if that is certain
  bool trial_law = true;     // off: a trial every 64 rounds
  bool late_rest = true;     // a worker that the rounds wait for too long rests
  bool one_round = true;     // one round alone moves no share by more than a twentieth
  bool least_gain = true;    // off: shares move for any gain
};

}  // namespace steelyard::balancing
