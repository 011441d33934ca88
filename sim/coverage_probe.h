// The probe: gradients that prove that every position of every round was counted exactly once.
//
// The gradient of a position is a small whole number, different from position to position, so the sum over an
// interval is exact in a float and known without adding. With a learning rate of 1 each version of a shard is
// the one before, less the mean over the round's positions; what was counted twice, or not at all, shows
// there.
//
// Where pushes are applied at once, that is so of all rounds together and whenever no round is open: a push
// that is divided by its own weight is made larger by as much. Pieces of equal weights are believed, and so
// are gathered ones, where what a push is divided by depends on who else pushes.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "server/shard/shard.h"
#include "sim/expected_hubs.h"
#include "protocol/sync_mode.h"

namespace steelyard::sim {

class CoverageProbe {
 public:
  explicit CoverageProbe(const SyncMode& mode = {});

  [[nodiscard]] double gradient(Interval positions) const;  // summed
  Blob pushed(const Compute& order);                        // the same, as a worker pushes it

  // A round as a shard is told of it. Rounds that were told before change nothing.
  void open(const Open& open);

  // Looks at what a shard has closed since it was looked at last. What is wrong, in words;
  // empty if nothing is.
  std::string look(NodeId node, const Shard& shard);

 private:
  struct Seen {
    Version version = 0;
    float value = 0;
  };
  [[nodiscard]] std::string look_at_all(const SliceMemory& slice, const std::string& where) const;
  [[nodiscard]] std::string look_at_average(const SliceMemory& slice, const std::string& where);

  const SyncMode mode_;
  ExpectedHubs hubs_;  // of a mode that has any
  double all_ = 0;     // the means over the positions of all rounds that are open or were
  std::shared_ptr<std::vector<float>> numbers_;  // what is pushed lies here, many side by side
  std::size_t used_ = 0;                         // of them
  std::vector<double> before_;                   // sum over the positions before each one of a period
  struct Expected {
    Interval whole;
    double gradient = 0;  // summed over the positions
    std::uint64_t positions = 0;
  };
  std::vector<Expected> rounds_;
  std::map<NodeId, std::vector<Seen>> seen_;  // by slice
};

}  // namespace steelyard::sim
