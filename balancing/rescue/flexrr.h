// FlexRR's rule (Harlap et al., SoCC 2016): which worker hands how much of a round's work to which other,
// during the round.
//
// Work is measured in shares of what a worker was assigned: 1 is its work of a round. A helper h, at its
// checkpoint or beyond, is compared with the helpee e:
//
//   ahead = (done_h - done_e) + min(since_h / usual_e, 1 - checkpoint)     since_h: h's progress since
//   if ahead > 0.20 and left_e > 0.05:  the helpee hands over min(ahead / 2, left_e / 2) of its work
//
// In FlexRR the helpee applies the rule and knows its own progress. Here the scheduler knows both workers'
// progress only from their last reports, one after each part of the work. The helpee is assumed to continue
// at its usual speed, but not beyond the next part, which it would have reported.
//
// A helper that has not finished its own work starts later, and the helpee may be fast again by then. The
// helper therefore gets a small piece first, and the rest once it has begun the small one. The paper does so
// without giving sizes; our first piece is the smallest amount that is handed over at all.
//
// Pure: no clock, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace steelyard::balancing {

// A worker's progress in a round, as last reported.
struct Standing {
  std::uint32_t slot = 0;
  double done = 0;          // of its work; 1: all. Work taken over lowers it
  double since = 0;         // seconds since that report
  double usual = 0;         // seconds that its work usually takes; 0: unknown
  bool free = false;        // it has finished its own work, and could start another piece at once
  bool may_help = false;    // it could take over work
  bool may_be_cut = false;  // its current piece can be shortened
};

struct WorkTransfer {
  std::uint32_t helpee = 0, helper = 0;  // slots
  double work = 0;                       // as a share of the helpee's work
};

class FlexRR {
 public:
  static constexpr double checkpoint = 0.75;  // a worker that has done this much may help
  static constexpr double behind = 0.20;      // a worker further behind than this is helped
  static constexpr double least = 0.05;       // if more than this is left
  static constexpr int parts = 8;             // of a piece; each is reported when done

  // The transfer from the last of these workers to the first. Returns std::nullopt if the last is not far
  // enough behind, or no worker may help.
  [[nodiscard]] static std::optional<WorkTransfer> next(const std::vector<Standing>& workers);
};

}  // namespace steelyard::balancing
