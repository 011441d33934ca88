#include "scheduler/rounds/left_over.h"

#include <algorithm>
#include <map>

namespace steelyard {

std::vector<Interval> between_holes(const Open& open) {
  IntervalSet holes;
  for (const Interval& hole : open.holes) holes.add(hole);
  return holes.gaps(open.positions);
}

// Only a round of whole grains may begin with any share: the last one may end in a part of a grain.
std::vector<Planner::Share> shares_between_holes(Planner& planner, const RoundState& round,
                                                 std::uint64_t grain) {
  const std::vector<Interval> parts = between_holes(round.open());
  std::uint64_t count = 0;
  for (const Interval& part : parts) count += part.size();
  std::vector<Planner::Share> shares = planner.divide(round, {0, count}), laid;
  if (shares.empty()) return laid;
  if (count % grain == 0)
    std::ranges::rotate(shares, shares.begin() + static_cast<std::ptrdiff_t>(round.round() % shares.size()));
  auto part = parts.begin();
  Position at = part->begin;
  for (const Planner::Share& share : shares) {
    for (std::uint64_t left = share.positions.size(); left > 0;) {
      if (at == part->end) at = (++part)->begin;
      const std::uint64_t size = std::min(left, part->end - at);
      laid.push_back({share.slot, {at, at + size}});
      at += size, left -= size;
    }
  }
  return laid;
}

// A worker computes one piece after the other, so what it had from the begin it has computed all the time but
// for what it has reported. Of what came later nobody knows when it was begun.
void leave_unreported(Time now, RoundState& round, Planner& planner, const Members& members) {
  std::map<std::uint32_t, std::uint64_t> late;  // by owner, positions
  for (const PieceId id : round.select([](const OwedPiece& piece) { return !piece.reported; })) {
    const OwedPiece piece = *round.find(id);
    round.leave_over(id);
    if (piece.owner && piece.since == round.started()) late[*piece.owner] += piece.positions.size();
  }
  std::map<std::uint32_t, double> reported;
  for (const RoundState::Part& part : round.parts()) reported[part.slot] = part.seconds;
  for (const auto& [slot, positions] : late) {
    const auto owner = members.workers.find(slot);
    if (owner == members.workers.end()) continue;
    Report so_far{.piece = {.round = round.round(), .positions = {0, positions}}};
    so_far.seconds = seconds(now - round.started()) - reported[slot];
    so_far.cpu = owner->second.cpu, so_far.memory = owner->second.memory;
    if (const auto sample = planner.sample(owner->second, so_far, -1)) planner.observe(*sample);
  }
}

}  // namespace steelyard
