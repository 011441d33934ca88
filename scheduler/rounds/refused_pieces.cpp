// The part of Assignments that handles pieces with rejected gradients.
#include <algorithm>
#include <cmath>

#include "core/text.h"
#include "scheduler/rounds/assignments.h"

namespace steelyard {
namespace {

std::string place_of(const RoundState& round, Interval positions) {
  const std::string test = round.purpose() == Purpose::evaluate ? "test " : "";
  return "round " + std::to_string(round.round()) + " (epoch " + std::to_string(round.open().epoch) + ", " +
         test + "positions " + std::to_string(positions.begin) + " to " + std::to_string(positions.end) + ")";
}

}  // namespace

std::optional<Orders> Assignments::refuse(Time now, const GradientRejected& refused) {
  const Found found = find(refused.piece.id);
  if (found.piece == nullptr) return std::nullopt;
  const WorkerMember* worker = members_.worker(refused.worker);
  const std::uint32_t slot = worker != nullptr ? worker->slot : found.piece->owner.value_or(UINT32_MAX);
  const std::string what =
      "the gradient that worker '" + members_.worker_name(refused.worker) + "' computed ";
  return compute_elsewhere(
      now, found, refused.piece.id,
      {slot, what + (refused.excess > 0
                         ? "is " + number_text(std::round(refused.excess)) + " times as long as usual"
                         : "is not finite")});
}

// The machine may be broken, so another worker computes the piece before the job ends. If that result
// is rejected, too, the cause is the training itself.
Orders Assignments::compute_elsewhere(Time now, const Found& found, PieceId id, const Refused& refused) {
  const OwedPiece piece = *found.piece;
  const std::string said = place_of(*found.round, piece.positions) + ": " + refused.what;
  if (piece.refusals > 0) {
    return {EndJob{Outcome::non_finite, said + ", and was refused again when another worker computed it"}};
  }
  if (bad_gradient_ == BadGradient::stop) {
    return {EndJob{
        Outcome::non_finite,
        said + R"(, and train.bad_gradient = "stop" ends the job: check that machine, or set "recompute")"}};
  }
  const bool rests = bad_gradient_ == BadGradient::rest;
  const std::string remedy =
      rests ? ", and that worker gets no work for 10 rounds: check its memory and processor"
            : ": if no other worker is named, check its machine, or set train.bad_gradient = \"rest\"";
  Orders orders{Remark{said + "; the piece is computed again" + remedy}};
  if (rests) orders.emplace_back(Rest{refused.slot, found.round->round()});
  found.round->remove(id);
  if (piece.owner) may_be_idle(*piece.owner);
  const std::vector<std::uint32_t> there = members_.working();
  const auto next = std::ranges::upper_bound(there, piece.owner.value_or(0));
  for (const Interval part : parts_of(piece)) {
    if (there.empty()) {
      found.round->add(next_piece_++, {part, std::nullopt, false, now, false, 1, piece.hub});
    } else {
      give(now, *found.round, {part, 1, piece.hub}, next == there.end() ? there.front() : *next, orders);
    }
  }
  return orders;
}

}  // namespace steelyard
