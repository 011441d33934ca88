// The last pushes before a barrier, where pushes wait for each other (ksoft-wait:K).
//
// A worker is answered once K pushes wait. Before a barrier there is nothing left to assign, so workers
// become idle, and then fewer than K may be left to push: each of them would wait for the others, with its
// last pieces not begun. A push that is repeated ends the wait (server/shard/close_rule.h).
#include <set>

#include "scheduler/rounds/assignments.h"

namespace steelyard {

Orders Assignments::end_waits() {
  if (!mode_.waits() || rounds_.empty() || !rounds_.back().untaken().empty() || !anybody_idle()) return {};
  std::set<std::uint32_t> owing;
  for (const RoundState& round : rounds_) {
    for (const auto& [id, piece] : round.pieces())
      if (piece.owner && !piece.reported) owing.insert(*piece.owner);
  }
  if (owing.size() >= mode_.wait.ready) return {};
  Orders orders;
  for (const std::uint32_t slot : owing) {
    const Found last = last_pushed(slot);
    if (last.piece == nullptr || last.piece->asked_again) continue;
    last.piece->asked_again = true;
    orders.emplace_back(AskAgain{slot, {term_, last.round->round(), last.piece->positions}});
  }
  return orders;
}

// The newest piece of this worker that is reported and that shards may not have added yet.
Assignments::Found Assignments::last_pushed(std::uint32_t slot) {
  Found last;
  for (RoundState& round : rounds_) {
    if (round.closed) continue;
    for (const PieceId id :
         round.select([&](const OwedPiece& piece) { return piece.owner == slot && piece.reported; }))
      last = {&round, round.find(id)};
  }
  return last;
}

}  // namespace steelyard
