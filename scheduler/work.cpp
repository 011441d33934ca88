#include "scheduler/work.h"

#include <algorithm>

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

bool Work::owes(std::uint32_t owner) const {
  const auto first = open_pieces_.lower_bound({owner, 0});
  return first != open_pieces_.end() && first->first == owner;
}

Interval Work::take(std::uint64_t most) {
  const Interval taken{untaken_.begin, untaken_.begin + std::min(most, untaken_.size())};
  untaken_.begin = taken.end;
  return taken;
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
  piece.told = {report.seconds, report.loss, report.correct};
}

void Work::close_unreported() {
  for (auto& [id, piece] : pieces_) piece.reported = true;
  open_pieces_.clear();
}

std::map<std::uint32_t, Work::Part> Work::parts() const {
  std::map<std::uint32_t, Part> parts;
  for (const auto& [id, piece] : pieces_) {
    if (!piece.told || !piece.owner) continue;
    parts[*piece.owner].samples += piece.positions.size();
    parts[*piece.owner].seconds += piece.told->seconds;
  }
  return parts;
}

double Work::loss() const {
  return mean([](const Piece& piece) { return piece.told->loss; });
}
double Work::accuracy() const {
  return mean([](const Piece& piece) { return static_cast<double>(piece.told->correct); });
}

double Work::mean(double (*value)(const Piece&)) const {
  double sum = 0, samples = 0;
  for (const auto& [id, piece] : pieces_) {
    if (!piece.told) continue;
    sum += value(piece);
    samples += static_cast<double>(piece.positions.size());
  }
  return samples > 0 ? sum / samples : 0;
}

}  // namespace steelyard
