// FlexRR's rule (Harlap et al., SoCC 2016): who hands how much of a round's work to whom, while it is done.
//
// Work is counted in shares of what a worker was dealt: 1 is its work of a round. A helper h, at its
// checkpoint or beyond, is compared with the helpee e:
//
//   ahead = (done_h - done_e) + min(since_h / usual_e, 1 - checkpoint)     since_h: he went on meanwhile
//   if ahead > 0.20 and left_e > 0.05:  the helpee hands over min(ahead / 2, left_e / 2) of its work
//
// In FlexRR the helpee applies it and knows what it has done. Here that was told some time ago as well, after
// the last part of its work: it is taken to have gone on at its usual speed, but not beyond the next part,
// which it would have told.
//
// Who is not done with its own work begins later, and the helpee may be quick again by then: it gets a small
// piece first, and the rest when it has begun that. The paper does so and gives no sizes; ours is the least
// that is handed over at all.
//
// Pure: no clock, no state.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace steelyard::balancing {

// Where a worker stands in a round, as last told.
struct Standing {
  std::uint32_t slot = 0;
  double done = 0;          // of its work; 1: all. What it takes over makes it less
  double since = 0;         // seconds since that was told
  double usual = 0;         // seconds that its work usually takes; 0: unknown
  bool free = false;        // it is done with its own work, and could begin another's at once
  bool may_help = false;    // it could take over something
  bool may_be_cut = false;  // it works on something that has a tail
};

struct WorkTransfer {
  std::uint32_t helpee = 0, helper = 0;  // slots
  double work = 0;                       // of the helpee's
};

class FlexRR {
 public:
  static constexpr double checkpoint = 0.75;  // a worker that has done so much may help
  static constexpr double behind = 0.20;      // a worker that is behind by more is helped
  static constexpr double least = 0.05;       // with no less left than that
  static constexpr int parts = 8;             // of a piece; each is told when it is done

  // What the last of these workers hands to the first of them. Nothing: it is not behind enough, or nobody
  // may help.
  [[nodiscard]] static std::optional<WorkTransfer> next(const std::vector<Standing>& workers);
};

}  // namespace steelyard::balancing
