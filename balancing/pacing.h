// Pacing: the part of a policy that also decides the length of rounds (docs/protocol.md, "Sync modes":
// orchestra).
//
// As pure as its policy, and saved with it: the same calls in the same order give the same answers.
#pragma once

#include <cstdint>
#include <vector>

namespace steelyard::balancing {

struct Request;

// A finished round.
struct RoundEnd {
  std::uint64_t epoch = 0;      // counted from 1
  std::uint64_t positions = 0;  // with known accuracy; in grains, as in requests
  double accuracy = 0;          // in [0, 1]: share of their labels that were correct when computed
  double seconds = 0;           // since the previous round, or an evaluation in between, was done
};

class Pacing {
 public:
  virtual ~Pacing() = default;

  // The number of mini-batches that each of request.workers takes in the next round, in order: from 1 to
  // most_steps. request.positions are one mini-batch for each, all of one size. Called once for each round,
  // before it is divided.
  static constexpr std::uint64_t most_steps = 1 << 20;
  virtual std::vector<std::uint64_t> steps(const Request& request) = 0;

  // Called in the order of rounds.
  virtual void ended(const RoundEnd& round) = 0;
};

}  // namespace steelyard::balancing
