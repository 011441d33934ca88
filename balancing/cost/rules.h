// The rules of `steelyard` that can be switched off, one at a time. Only the bench does that, to measure what
// each is worth (bench/ablation_bench.cpp); the table is in docs/policies.md.
#pragma once

namespace steelyard::balancing {

struct Rules {
  // Of the cost of one worker (cost_filter.h).
  bool fixed_cost = true;     // off: time in proportion to samples
  bool shape_doubt = true;    // another size of batch adds to the doubt about the level
  bool loosening = true;      // after a sudden change the line may have become another
  bool slow_average = true;   // off: the quick one is always believed
  bool quick_average = true;  // off: the slow one
  bool noise_trust = true;    // errors that the level's doubt explains are no noise
  bool accidents = true;      // off: every time is followed
  bool known_speeds = true;   // as fast as before a change is believed at once
  bool history = true;        // where changes have lasted, the next one is believed at once
  bool cold_start = true;     // a first batch twice as slow as the second is forgotten
  bool cpu_signal = true, memory_signal = true;
  // Of the split.
  bool links = true;         // a slow link leaves less time to compute
  bool link_changes = true;  // two waits that agree are a change of the link
  bool rest = true;          // a worker that only delays rests
  bool rest_doubt = true;    // but only if that is sure
  bool trial_law = true;     // off: a trial every 64 rounds
  bool late_rest = true;     // for whom the rounds wait too long rests
  bool one_round = true;     // no share moves by more than a twentieth on the word of one round
  bool least_gain = true;    // off: shares move for any gain
};

}  // namespace steelyard::balancing
