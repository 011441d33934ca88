// The rounds one by one, a lane a worker: how long it computed, waited for the slowest, and exchanged. Pure.
//
// What is measured is how long each worker computed and how long the round took. That computing comes
// first and the exchange last is how it is drawn; in truth values come before and gradients go after. It is
// for modes in which the workers of a round wait for each other: otherwise rounds overlap, and when each
// worker began is not recorded.
#pragma once

#include <string>
#include <vector>

#include "app/report/run/finding.h"

namespace steelyard {

// The picture with its data for the page's script; empty if there is no round. It begins with `first` in
// view, a place in record.rounds. `workers`: whose lanes are drawn, in this order. Where a run has too many
// rounds for a page, stretches of them are kept, evenly spaced, and it says so.
std::string lanes(const RunRecord& record, const std::vector<std::uint32_t>& workers, std::size_t first);

// Places in record.rounds of the rounds of training that are drawn: all, or some `most` in stretches, that
// around `first` among them.
std::vector<std::size_t> kept_rounds(const RunRecord& record, std::size_t most, std::size_t first);

}  // namespace steelyard
