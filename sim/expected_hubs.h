// ExpectedHubs: what the average of all hubs comes to, round by round, in a mode with hubs (protocol/hubs.h),
// where the gradient of every position is known: server/shard/hub_rule.h, worked out from the pieces that were
// computed.
//
// The average is weighted by the positions since the hubs mixed last. So with shares that change from round
// to round it moves by other than the mean over the round's positions, and has to be followed hub by hub.
// CoverageProbe holds one. The rate of every step is 1, and all hubs begin at 0.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "protocol/messages.h"

namespace steelyard::sim {

class ExpectedHubs {
 public:
  explicit ExpectedHubs(const Hubs& hubs);

  // A piece keeps its hub, whoever computes it; one that is computed twice changes nothing.
  void computed(const Piece& piece);
  // The next round is closed. `gradient` is summed over the positions of an interval. What is wrong, in
  // words; empty if nothing is.
  std::string close(Interval positions, const std::function<double(Interval)>& gradient);

  struct Average {
    double value = 0;
    double positions = 0;  // that it is the average over
  };
  // After each closed round.
  [[nodiscard]] const std::vector<Average>& averages() const { return averages_; }

 private:
  struct Hub {
    double value = 0;
    double positions = 0;  // since the hubs mixed last
  };
  // Of these hubs; where none has had a position, of the first.
  [[nodiscard]] Average mean(const std::vector<HubNumber>& of) const;
  void mix();

  const Hubs hubs_;
  std::map<HubNumber, Hub> state_;
  std::map<Round, std::map<HubNumber, IntervalSet>> pieces_;  // of rounds that are not closed
  std::vector<Average> averages_;
};

}  // namespace steelyard::sim
