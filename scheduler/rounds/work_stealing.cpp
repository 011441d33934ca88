#include "scheduler/rounds/work_stealing.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace steelyard {
namespace {

static_assert(balancing::FlexRR::parts == parts_told);

constexpr double newest = 0.2;  // weight of the newest piece in the running average

}  // namespace

WorkStealing::WorkStealing(const Job& job, const Members& members, const Planner& planner)
    : grain_(job.grain), members_(members), planner_(planner) {}

void WorkStealing::begin(const RoundState& round) {
  dealt_.clear();
  for (const auto& [id, piece] : round.pieces()) {
    if (piece.owner) dealt_[*piece.owner] += piece.positions.size();
  }
}

void WorkStealing::observe(std::uint32_t slot, const Report& report) {
  const double each = report.seconds / static_cast<double>(report.piece.positions.size());
  const auto [usual, is_new] = usual_.try_emplace(slot, each);
  if (!is_new) usual->second += newest * (each - usual->second);
}

bool WorkStealing::told(Time now, OwedPiece& piece, const PieceProgress& progress) {
  PieceUnderway& underway = piece.underway;
  const bool possible = progress.micro_batch > 0 && progress.done <= piece.positions.size();
  const bool is_new = underway.micro_batch == 0 || progress.done > underway.done;
  if (!possible || !is_new || piece.reported) return false;
  underway = {std::max(underway.done, progress.done), progress.micro_batch, now};
  return true;
}

std::optional<WorkStealing::Ask> WorkStealing::next(Time now, const RoundState& round) const {
  if (round.done || round.purpose() != Purpose::train) return std::nullopt;
  const Works all = works(round);
  const auto chosen = balancing::FlexRR::next(standings(now, all));
  if (!chosen) return std::nullopt;
  const PieceId id = all.at(chosen->helpee).longest;
  const OwedPiece& piece = *round.find(id);
  const auto work = static_cast<double>(dealt_.at(chosen->helpee)) * chosen->work;
  const std::uint64_t most = planner_.most(members_.workers.at(chosen->helper), round);
  const auto end = border(piece, std::min(static_cast<std::uint64_t>(std::llround(work)), most));
  if (!end || piece.positions.end - *end > most) return std::nullopt;
  return Ask{id, {*end, chosen->helper, now}};
}

WorkStealing::Works WorkStealing::works(const RoundState& round) const {
  Works works;
  for (const auto& [id, piece] : round.pieces()) {
    if (!piece.owner) continue;
    Work& work = works[*piece.owner];
    work.told = std::max({work.told, piece.underway.since, piece.reported ? piece.since : Time{}});
    if (piece.reported) continue;
    const std::uint64_t left = piece.positions.size() - piece.underway.done;
    work.left += left;
    work.own = work.own || !piece.handed;
    work.asked = work.asked || piece.cut;
    work.waits = work.waits || piece.underway.micro_batch == 0;
    if (piece.cut) works[piece.cut->helper].waits = true;
    if (left > work.longest_left && border(piece, 0)) {
      work.longest = id;
      work.longest_left = left;
    }
  }
  return works;
}

std::vector<balancing::Standing> WorkStealing::standings(Time now, const Works& works) const {
  std::vector<balancing::Standing> standings;
  standings.reserve(works.size());
  for (const auto& [slot, work] : works) {
    const auto dealt = dealt_.find(slot);
    const auto worker = members_.workers.find(slot);
    if (dealt == dealt_.end() || worker == members_.workers.end() || !worker->second.working()) continue;
    const auto whole = static_cast<double>(dealt->second);
    const auto usual = usual_.find(slot);
    standings.push_back({slot, 1 - static_cast<double>(work.left) / whole, seconds(now - work.told),
                         usual == usual_.end() ? 0 : usual->second * whole, !work.own,
                         !work.waits && !work.asked, !work.asked && work.longest != 0});
  }
  return standings;
}

// Where to cut the piece to hand over about `hand_over` positions: at most half of the positions left,
// rounded to whole steps, and after the micro-batch that the worker is computing according to its last
// report.
std::optional<Position> WorkStealing::border(const OwedPiece& piece, std::uint64_t hand_over) const {
  const std::uint64_t micro_batch = piece.underway.micro_batch, size = piece.positions.size();
  if (micro_batch == 0) return std::nullopt;
  const std::uint64_t grains = micro_batch / std::gcd(grain_, micro_batch);  // in a step
  if (grains > size / grain_) return std::nullopt;
  const std::uint64_t step = grains * grain_;
  const std::uint64_t keep = size - std::min(hand_over, (size - piece.underway.done) / 2);
  const std::uint64_t end = std::min((keep + step - 1) / step, (size - 1) / step) * step;
  if (end < piece.underway.done + micro_batch) return std::nullopt;
  return piece.positions.begin + end;
}

}  // namespace steelyard
