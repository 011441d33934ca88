// WorkStealing: where the workers stand within a round, and who is asked to hand over what.
//
// The rule is FlexRR's (balancing/rescue/flexrr.h). Here is what it needs to know: what each worker was dealt
// and how long that usually takes it, what is left of it, which piece has a tail and where that may be cut:
// between two micro-batches of its worker that are whole grains.
//
// Who was asked for a cut is asked for no other before it has answered; and who has not begun what it took
// over gets no more.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "balancing/rescue/flexrr.h"
#include "scheduler/members/members.h"
#include "scheduler/rounds/planner.h"
#include "scheduler/rounds/round_state.h"

namespace steelyard {

class WorkStealing {
 public:
  // `members` and `planner` belong to the caller and outlive this.
  WorkStealing(const Job& job, const Members& members, const Planner& planner);

  void begin(const RoundState& round);  // its pieces have been dealt
  void observe(std::uint32_t slot, const Report& report);

  // A worker tells of a piece that it owes. False: late, repeated or impossible.
  static bool told(Time now, OwedPiece& piece, const PieceProgress& progress);

  struct Ask {
    PieceId piece = 0;
    PieceCut cut;
  };
  // The next cut to be asked for; nothing: there is none now.
  [[nodiscard]] std::optional<Ask> next(Time now, const RoundState& round) const;

 private:
  // What is left to a worker of all its pieces, and the one with the most left of those that can be cut.
  struct Work {
    std::uint64_t left = 0;
    Time told{};
    bool own = false;    // some of it is not what it took over
    bool asked = false;  // for a cut, and has not answered
    bool waits = false;  // will take over something, or has not begun a piece
    PieceId longest = 0;
    std::uint64_t longest_left = 0;
  };
  using Works = std::map<std::uint32_t, Work>;  // by slot
  [[nodiscard]] Works works(const RoundState& round) const;
  [[nodiscard]] std::vector<balancing::Standing> standings(Time now, const Works& works) const;
  [[nodiscard]] std::optional<Position> border(const OwedPiece& piece, std::uint64_t hand_over) const;

  const std::uint64_t grain_;
  const Members& members_;
  const Planner& planner_;
  std::map<std::uint32_t, std::uint64_t> dealt_;  // positions of this round, by slot
  std::map<std::uint32_t, double> usual_;         // seconds a position, by slot; recent rounds count more

 public:
  void serialize(auto& fields) { fields(dealt_, usual_); }
};

}  // namespace steelyard
