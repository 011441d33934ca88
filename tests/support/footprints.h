// Footprints: gradients that show which positions have counted, for modes that apply each push on arrival. No
// two runs of such modes have the same parameters.
//
// Round r changes only float r of every slice, by -rate in total; each position contributes its part. The
// parameters thus show which share of each round they include. Requires plain SGD, a constant rate, no decay,
// and slices with one float per round. If pushes are gathered, the divisor depends on the other pushes; then
// the share is that of the undivided sum (GatheredSums in tests/support/version_checks.h).
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

  // The problem of a slice, or an empty string: rounds below `whole` must be included completely, those from
  // `none` on not at all, and none more than once.
  [[nodiscard]] std::string look(std::span<const float> slice, Version whole,
                                 Version none = UINT64_MAX) const;
  // The same for all parameters of a worker's order, which must also include the worker's earlier pieces.
  [[nodiscard]] std::string look(NodeId worker, const Compute& order) const;

  void started(NodeId worker, const Start& start);
  // This worker has pushed this piece.
  void pushed(NodeId worker, const Report& report);
  // The worker was declared lost: others compute its pieces, and its own evaluations of them do not count.
  void given_up(NodeId worker);

 private:
  [[nodiscard]] std::uint64_t surely_in(NodeId worker, Round round, const IntervalSet& pushed) const;

  const SyncMode mode_;
  const std::vector<Slice> slices_;
  const double rate_, batch_;
  const Round barriers_;
  std::map<NodeId, std::map<Round, IntervalSet>> own_;
  std::map<NodeId, std::map<PieceId, Start>> owed_;
  std::set<std::pair<NodeId, PieceId>> given_up_;
  std::map<Round, std::uint64_t> sizes_;  // positions
};

}  // namespace steelyard::test
