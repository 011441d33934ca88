#include "tests/support/footprints.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace steelyard::test {
namespace {

constexpr double slip = 1e-4;  // tolerance of a share; one position is far more

}  // namespace

Footprints::Footprints(const Job& job)
    : mode_(job.sync),
      slices_(slices(job.layout)),
      rate_(job.schedule.base),
      batch_(static_cast<double>(job.global_batch)),
      barriers_(rounds_with_barrier(job)) {}

// A piece that is given to another worker is given up by the first, which may still compute it, later.
void Footprints::started(NodeId worker, const Start& start) {
  for (const auto& [other, pieces] : owed_) {
    for (const auto& [id, owed] : pieces) {
      const Interval &its = owed.piece.positions, &again = start.piece.positions;
      const bool overlaps = its.begin < again.end && again.begin < its.end;
      if (other != worker && owed.piece.round == start.piece.round && overlaps &&
          owed.piece.purpose == start.piece.purpose)
        given_up_.insert({other, id});
    }
  }
  owed_[worker][start.piece.id] = start;
  sizes_[start.piece.round] = start.piece.whole.size();
}

void Footprints::pushed(NodeId worker, const Report& report) {
  own_[worker][report.piece.round].add(report.piece.positions);
  owed_[worker].erase(report.piece.id);
}

void Footprints::given_up(NodeId worker) {
  for (const auto& [piece, start] : owed_[worker]) given_up_.emplace(worker, piece);
}

// Positions that it must recompute do not count: their push may have been dropped.
std::uint64_t Footprints::surely_in(NodeId worker, Round round, const IntervalSet& pushed) const {
  IntervalSet again;
  if (const auto owed = owed_.find(worker); owed != owed_.end()) {
    for (const auto& [piece, start] : owed->second) {
      if (start.piece.round == round) again.add(start.piece.positions);
    }
  }
  std::uint64_t count = 0;
  for (const Interval& interval : pushed.intervals()) {
    for (const Interval& part : again.gaps(interval)) count += part.size();
  }
  return count;
}

std::vector<float> Footprints::gradient(const Compute& order, const Slice& slice) const {
  std::vector<float> values(slice.size());
  const auto count = static_cast<double>(order.piece.positions.size()),
             all = static_cast<double>(order.piece.whole.size());
  const double part = mode_.lookahead > 0    ? count * std::min(batch_, all) / all
                      : mode_.gathers()      ? count / all
                      : mode_.divide_by_push ? count * count / all
                                             : count;
  if (order.piece.round < values.size()) values[order.piece.round] = static_cast<float>(part);
  return values;
}

std::string Footprints::look(std::span<const float> slice, Version whole, Version none) const {
  for (Round round = 0; round < slice.size(); ++round) {
    const double share = -static_cast<double>(slice[round]) / rate_;
    const std::string name = "round " + std::to_string(round) + " is in by " + std::to_string(share);
    if (share > 1 + slip) return name + ": more than once";
    if (round < whole && share < 1 - slip) return name + ", and should be in completely";
    if (round >= none && share > slip) return name + ", and should not be yet";
  }
  return {};
}

std::string Footprints::look(NodeId worker, const Compute& order) const {
  const Round its = order.piece.round;
  const Version whole = order.piece.purpose == Purpose::evaluate ? its : its - mode_.slack_at(its, barriers_);
  const bool exact =
      order.piece.purpose == Purpose::evaluate && !given_up_.contains({worker, order.piece.id});
  const Version none = exact ? order.piece.round : UINT64_MAX;
  for (const Slice& slice : slices_) {
    const auto given = order.parameters.floats().subspan(slice.begin, slice.size());
    if (std::string trouble = look(given, whole, none); !trouble.empty()) return trouble;
    const auto own = own_.find(worker);
    if (own == own_.end()) continue;
    for (const auto& [round, positions] : own->second) {
      if (round == its && its < barriers_) continue;  // gathered until the round is complete
      const double share = -static_cast<double>(given[round]) / rate_;
      const auto wrote = static_cast<double>(surely_in(worker, round, positions));
      const double mine = wrote / static_cast<double>(sizes_.at(round));
      if (share < mine - slip)
        return "round " + std::to_string(round) + ": the worker does not see its own push";
    }
  }
  return {};
}

}  // namespace steelyard::test
