#include "scheduler/rounds/round_state.h"

#include <algorithm>

#include "core/check.h"
#include "protocol/uncounted.h"

namespace steelyard {

namespace {

std::size_t row(std::optional<std::uint32_t> owner) { return owner ? std::size_t{*owner} + 1 : 0; }

}  // namespace

// Ids are mostly consecutive, so a piece is usually at the index id - first id.
RoundState::Pieces::const_iterator RoundState::place(PieceId id) const {
  if (pieces_.empty() || id < pieces_.front().first) return pieces_.end();
  const auto guess =
      pieces_.begin() + static_cast<std::ptrdiff_t>(std::min(id - pieces_.front().first, pieces_.size() - 1));
  if (guess->first == id) return guess;
  const auto found = std::ranges::lower_bound(pieces_.begin(), guess, id, {}, &Pieces::value_type::first);
  return found->first == id ? found : pieces_.end();
}

const OwedPiece* RoundState::find(PieceId id) const {
  const auto found = place(id);
  return found == pieces_.end() ? nullptr : &found->second;
}

std::vector<PieceId> RoundState::owed_by(std::optional<std::uint32_t> owner) const {
  std::vector<PieceId> ids;
  if (row(owner) >= newest_.size()) return ids;
  for (PieceId id = newest_[row(owner)]; id != 0;) {
    const OwedPiece& piece = *find(id);
    if (!piece.reported) ids.push_back(id);
    id = piece.before;
  }
  std::ranges::reverse(ids);
  return ids;
}

Interval RoundState::take(std::uint64_t share, std::uint64_t most) {
  const std::uint64_t there = untaken_.size(), left = there - std::min(share, there);
  const bool all = left < share - share / 2 && there <= most;
  const Interval taken{untaken_.begin, all ? untaken_.end : untaken_.begin + std::min(share, there)};
  untaken_.begin = taken.end;
  return taken;
}

void RoundState::add(PieceId id, OwedPiece piece) {
  CHECK(id > (pieces_.empty() ? 0 : pieces_.back().first), "ids of pieces increase");
  newest_.resize(std::max(newest_.size(), row(piece.owner) + 1));
  piece.before = std::exchange(newest_[row(piece.owner)], id);
  if (!piece.reported) ++unreported_;
  pieces_.emplace_back(id, piece);
}

void RoundState::remove(PieceId id) {
  const auto gone = place(id);
  if (gone == pieces_.end()) return;
  PieceId* link = &newest_[row(gone->second.owner)];
  while (*link != id) link = &find(*link)->before;
  *link = gone->second.before;
  if (!gone->second.reported) --unreported_;
  pieces_.erase(gone);
}

std::size_t RoundState::owing() const {
  std::size_t count = owed_by(std::nullopt).size();
  for (std::uint32_t slot = 0; slot + 1 < newest_.size(); ++slot) count += owes(slot) ? 1 : 0;
  return count;
}

void RoundState::leave_over(PieceId id) {
  const Interval positions = find(id)->positions;
  remove(id);
  IntervalSet skipped, all;
  for (const Interval& part : open_.skipped) skipped.add(part);
  skipped.add(positions);
  open_.skipped = skipped.intervals();
  for (const Interval& part : left_over_) all.add(part);
  all.add(positions);
  left_over_ = all.intervals();
}

void RoundState::shorten(PieceId id, Position end) {
  OwedPiece* piece = find(id);
  CHECK(piece != nullptr && !piece->reported && piece->positions.begin < end && end < piece->positions.end,
        "only an owed piece is cut, inside its positions");
  piece->positions.end = end;
  piece->cut.reset();
}

void RoundState::report(PieceId id, const Report& report, Time now) {
  OwedPiece* piece = find(id);
  CHECK(piece != nullptr, "only a piece of this round is reported");
  if (std::exchange(piece->reported, true)) return;
  --unreported_;
  piece->since = now;
  piece->told = {report.seconds, report.loss, report.correct, report.weight};
}

void RoundState::owner_gone(std::uint32_t slot) {
  for (auto& [id, piece] : pieces_) piece.owner_gone |= piece.reported && piece.owner == slot;
}

// Recomputed pieces are late because of that, so their delay does not measure the time of a push.
Duration RoundState::longest_since_report(Time now) const {
  Duration longest{};
  if (computed_again) return longest;
  for (const auto& [id, piece] : pieces_) {
    if (piece.told && !piece.asked_again) longest = std::max(longest, now - piece.since);
  }
  return longest;
}

void RoundState::close_unreported() {
  for (auto& [id, piece] : pieces_) piece.reported = true;
  unreported_ = 0;
}

std::vector<RoundState::Part> RoundState::parts() const {
  std::vector<Part> each, parts;
  each.reserve(pieces_.size());
  parts.reserve(pieces_.size());
  for (const auto& [id, piece] : pieces_) {
    if (piece.told && piece.owner)
      each.push_back({*piece.owner, piece.positions.size(), piece.told->seconds});
  }
  std::ranges::stable_sort(each, {}, &Part::slot);
  for (const Part& part : each) {
    if (parts.empty() || parts.back().slot != part.slot) parts.push_back({part.slot, 0, 0});
    parts.back().samples += part.samples;
    parts.back().seconds += part.seconds;
  }
  return parts;
}

double RoundState::loss() const {
  return mean([](const PieceTold& told) { return told.loss; },
              [](const OwedPiece& piece) {
                return piece.told->weight > 0 ? piece.told->weight
                                              : static_cast<double>(piece.positions.size());
              });
}

double RoundState::accuracy(std::uint32_t labels) const {
  for (const auto& [id, piece] : pieces_) {
    if (piece.told && piece.told->correct == uncounted) return -1;
  }
  return mean([](const PieceTold& told) { return static_cast<double>(told.correct); },
              [](const OwedPiece& piece) { return static_cast<double>(piece.positions.size()); }) /
         labels;
}

double RoundState::mean(double (*value)(const PieceTold&), double (*weight)(const OwedPiece&)) const {
  double sum = 0, weights = 0;
  for (const auto& [id, piece] : pieces_) {
    if (!piece.told) continue;
    sum += value(*piece.told);
    weights += weight(piece);
  }
  return weights > 0 ? sum / weights : 0;
}

}  // namespace steelyard
