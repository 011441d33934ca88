// What is said of a piece while it is computed, and where pieces change hands within a round
// (SyncMode::hand_over).
#pragma once

#include <cstdint>

#include "core/interval.h"
#include "protocol/terms.h"

namespace steelyard {

// Worker -> scheduler, when it begins a piece and after every part of it: so many of its positions are done,
// and it may be cut between its micro-batches, which have so many.
inline constexpr std::uint64_t parts_told = 8;  // of a piece of a training
struct PieceProgress {
  Term term = 0;
  PieceId piece_id = 0;
  std::uint64_t done = 0;
  std::uint64_t micro_batch = 0;
};
// Scheduler -> worker -> compute: the piece is to end here, between two of its micro-batches; what is behind
// will be another's.
struct Cut {
  Term term = 0;
  PieceId piece_id = 0;
  Position end = 0;
};
// Worker -> scheduler, to the cut that asked for this end: the piece ends here. That is where it was asked
// to, or where it ended before: the cut came too late. Of a piece that is computed when the cut comes, the
// report is the answer.
struct CutAnswer {
  Term term = 0;
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
};
// Compute -> worker, now and then: a piece is being computed, and so many of its positions are done. With
// hand-over also when it is begun and after every part of it (PieceProgress).
struct ComputeProgress {
  PieceId piece_id = 0;
  std::uint64_t done = 0;
  std::uint64_t micro_batch = 0;
};
struct CutTried {  // compute -> worker, as CutAnswer
  PieceId piece_id = 0;
  Position asked = 0, end = 0;
};

// Host -> polite worker: what other programs leave of the processors that it computes with, 0..1.
struct MachineLeft {
  double share = -1;  // -1: not known
};

}  // namespace steelyard
