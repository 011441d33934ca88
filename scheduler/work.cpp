#include "scheduler/work.h"

namespace steelyard {

Piece* Work::find(PieceId id) {
  const auto piece = pieces_.find(id);
  return piece == pieces_.end() ? nullptr : &piece->second;
}

std::vector<PieceId> Work::owed_by(std::optional<std::uint32_t> owner) const {
  std::vector<PieceId> ids;
  for (auto it = open_pieces_.lower_bound({owner, 0}); it != open_pieces_.end() && it->first == owner; ++it) {
    ids.push_back(it->second);
  }
  return ids;
}

void Work::add(PieceId id, Piece piece) {
  if (!piece.reported) open_pieces_.emplace(piece.owner, id);
  pieces_.emplace(id, piece);
}

void Work::remove(PieceId id) {
  const auto piece = pieces_.find(id);
  if (piece == pieces_.end()) return;
  open_pieces_.erase({piece->second.owner, id});
  pieces_.erase(piece);
}

void Work::report(PieceId id, std::uint32_t slot, const Report& report, Time now) {
  Piece& piece = pieces_.at(id);
  if (piece.reported) return;
  open_pieces_.erase({piece.owner, id});
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
  open_pieces_.clear();
}

double Work::loss() const { return samples_ == 0 ? 0 : loss_ / static_cast<double>(samples_); }
double Work::accuracy() const {
  return samples_ == 0 ? 0 : static_cast<double>(correct_) / static_cast<double>(samples_);
}

}  // namespace steelyard
