#include "worker/compute/piece_parts.h"

#include <algorithm>

#include "protocol/local_steps.h"

namespace steelyard {

// Without local steps the piece is one step.
PieceParts::PieceParts(const Piece& piece, std::uint64_t grain)
    : epoch_(piece.epoch),
      grain_(grain),
      positions_(piece.positions),
      local_{std::max<std::uint64_t>(1, piece.local.steps), piece.local.passes, piece.local.batch},
      steps_(steps_of(local_, positions_.size())) {}

std::optional<PieceParts::Part> PieceParts::next() {
  const std::uint64_t pass = next_ / steps_, step = next_ % steps_;
  if (pass >= local_.passes) return std::nullopt;
  ++next_;
  return Part{epoch_ + pass, part_of(positions_, step, local_, grain_)};
}

}  // namespace steelyard
