// The rounds one by one, with a lane for each worker: it computed, waited for the slowest worker, exchanged,
// or rested (had no samples). Pure.
//
// Measured are the compute time of each worker and the time of the round. The picture puts computing first
// and the exchange last; in fact parameters arrive before and gradients leave after computing. Only for modes
// in which the workers of a round wait for each other: elsewhere rounds overlap, and the time at which each
// worker began is not recorded.
//
// The block (app/report/page/document.h) has columns of equal length, one item a round or a mean of several:
//
//   "round"    number of the first round of an item      "count"   rounds in it
//   "at"       seconds, its begin                        "ms", "slowest"   mean times of a round
//   "shares", "times"   for each of "names": samples and compute ms; null: it rested
//   "view", "shown", "label"   the items in view at first, and the reason
#pragma once

#include <string>
#include <vector>

#include "app/report/page/document.h"
#include "app/report/run/finding.h"

namespace steelyard {

struct LaneItem {
  std::size_t first = 0, count = 1;  // of the rounds of training
};

// The rounds from `view` on, the last `exact`, and the slowest fifth of `exact` are items of their own; the
// rest are means of neighbouring rounds, at most `most` items in all. `seconds`: of each round.
std::vector<LaneItem> lane_items(const std::vector<double>& seconds, std::size_t view, std::size_t exact,
                                 std::size_t most);

// `workers`: the lanes, in this order. `first`: a place in record.rounds that is in view at first, because of
// `label`. Null if there is no round.
Json lanes_block(const RunRecord& record, const std::vector<std::uint32_t>& workers, std::size_t first,
                 const std::string& label, std::size_t exact);

}  // namespace steelyard
