// Footprints: gradients for the modes that apply each push at once, where no two runs have the same
// parameters and yet every position must have counted exactly once.
//
// Round r moves float r of every slice and no other, by -rate in all: each position of the round by its part.
// So parameters tell which share of which round is in them. Needs plain SGD, a constant rate, no decay, and
// slices with a float for each round. Where pushes are gathered, what a push is divided by depends on who
// else pushes; there the part is that of what was divided (GatheredSums in tests/support/version_checks.h).
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/interval.h"
#include "protocol/messages.h"
#include "protocol/sync_mode.h"

namespace steelyard::test {

class Footprints {
 public:
  explicit Footprints(const Job& job);

  [[nodiscard]] std::vector<float> gradient(const Compute& order, const Slice& slice) const;

  // What is wrong with a slice: rounds below `whole` must be in it as a whole, those from `none` on not at
  // all, and none more than once. Empty if nothing is.
  [[nodiscard]] std::string look(std::span<const float> slice, Version whole,
                                 Version none = UINT64_MAX) const;
  // The same for all parameters that a worker computes from, where its own former pieces must be in too.
  [[nodiscard]] std::string look(NodeId worker, const Compute& order) const;

  void started(NodeId worker, const Start& start);
  // This worker has pushed this piece.
  void pushed(NodeId worker, const Report& report);
  // It was taken for lost: what it owed is others', and what it evaluates of that counts for nothing.
  void given_up(NodeId worker);

 private:
  [[nodiscard]] std::uint64_t surely_in(NodeId worker, Round round, const IntervalSet& pushed) const;

  const SyncMode mode_;
  const std::vector<Slice> slices_;
  const double rate_;
  std::map<NodeId, std::map<Round, IntervalSet>> own_;
  std::map<NodeId, std::map<PieceId, Start>> owed_;
  std::set<std::pair<NodeId, PieceId>> given_up_;
  std::map<Round, std::uint64_t> sizes_;  // positions
};

}  // namespace steelyard::test
