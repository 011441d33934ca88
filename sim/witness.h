// The witness: gradients that prove that every position of every round was counted exactly once.
//
// The gradient of a position is a small whole number, different from position to position, so the sum over an
// interval is exact in a float and known without adding. With a learning rate of 1 each version of a shard is
// the one before, less the mean over the round's positions; what was counted twice, or not at all, shows
// there.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "server/shard.h"

namespace steelyard::sim {

class Witness {
 public:
  Witness();

  [[nodiscard]] double gradient(Interval positions) const;  // summed

  // Round k has these positions; told in the order of rounds, from 0.
  void open(Interval positions) { positions_.push_back(positions); }

  // Looks at what a shard has closed since it was looked at last. What is wrong, in words; empty if nothing
  // is.
  std::string look(NodeId node, const Shard& shard);

 private:
  struct Seen {
    Version version = 0;
    float value = 0;
  };
  std::vector<double> before_;                // sum over the positions before each one of a period
  std::vector<Interval> positions_;           // by round
  std::map<NodeId, std::vector<Seen>> seen_;  // by slice
};

}  // namespace steelyard::sim
