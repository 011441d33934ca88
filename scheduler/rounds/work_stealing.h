// WorkStealing: tracks the workers' progress within a round, and decides which piece is cut and handed over.
//
// The rule is FlexRR's (balancing/rescue/flexrr.h). This class provides its input: the positions assigned to
// each worker and the time that they usually take, the positions left, and where a piece may be cut: between
// two micro-batches of its worker, at a border of a grain.
//
// A worker with an unanswered Cut gets no other Cut. A helper gets no further work before it has begun the
// piece that it took over.
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

  void begin(const RoundState& round);  // after its pieces are assigned
  void observe(std::uint32_t slot, const Report& report);

  // A worker reports progress with a piece that it owes. False if it is late, repeated or impossible.
  static bool told(Time now, OwedPiece& piece, const PieceProgress& progress);

  struct Ask {
    PieceId piece = 0;
    PieceCut cut;
  };
  // The next cut to request; std::nullopt if none is possible now.
  [[nodiscard]] std::optional<Ask> next(Time now, const RoundState& round) const;

 private:
  // The positions left in all pieces of a worker, and its piece with the most left among those that can be
  // cut.
  struct Work {
    std::uint64_t left = 0;
    Time told{};
    bool own = false;    // some of it was not taken over from another worker
    bool asked = false;  // a cut was requested and not answered
    bool waits = false;  // it is the helper of a pending cut, or has not begun a piece
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
  std::map<std::uint32_t, std::uint64_t> dealt_;  // positions assigned at the start of the round, by slot
  std::map<std::uint32_t, double> usual_;         // seconds per position, by slot; running average

 public:
  void serialize(auto& fields) { fields(dealt_, usual_); }
};

}  // namespace steelyard
