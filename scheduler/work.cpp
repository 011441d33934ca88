#include "scheduler/work.h"

#include <algorithm>

namespace steelyard {

Piece* Work::find(PieceId id) {
  const auto piece = pieces_.find(id);
  return piece == pieces_.end() ? nullptr : &piece->second;
}

bool Work::reported() const {
  return std::ranges::all_of(pieces_, [](const auto& entry) { return entry.second.reported; });
}

void Work::report(PieceId id, std::uint32_t slot, const Report& report, Time now) {
  Piece& piece = pieces_.at(id);
  if (piece.reported) return;
  piece.reported = true;
  piece.owner = slot;
  piece.since = now;
  parts_[slot].samples += piece.positions.size();
  parts_[slot].seconds += report.seconds;
  loss_ += report.loss;
  correct_ += report.correct;
  samples_ += piece.positions.size();
}

void Work::close_unreported() {
  for (auto& [id, piece] : pieces_) piece.reported = true;
}

double Work::loss() const { return samples_ == 0 ? 0 : loss_ / static_cast<double>(samples_); }
double Work::accuracy() const {
  return samples_ == 0 ? 0 : static_cast<double>(correct_) / static_cast<double>(samples_);
}

}  // namespace steelyard
