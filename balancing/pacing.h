// Pacing: what a policy does that also says how long a round is (docs/protocol.md, "Sync modes": orchestra).
//
// As pure as the policy that it is a part of, and saved with it: the same calls in the same order give the
// same answers.
#pragma once

#include <cstdint>
#include <vector>

namespace steelyard::balancing {

struct Request;

// A round that is done.
struct RoundEnd {
  std::uint64_t epoch = 0;      // counted from 1
  std::uint64_t positions = 0;  // that accuracy is known of; in grains, as in requests
  double accuracy = 0;          // in [0, 1]: of their labels, those that were right when they were computed
  double seconds = 0;           // since the round before it, or an evaluation between them, was done
};

class Pacing {
 public:
  virtual ~Pacing() = default;

  // How many mini-batches each of request.workers takes in the next round, in their order: at least 1 each,
  // most_steps at the most. request.positions are one mini-batch of each, all of one size. Asked once for
  // each round, before it is divided.
  static constexpr std::uint64_t most_steps = 1 << 20;
  virtual std::vector<std::uint64_t> steps(const Request& request) = 0;

  // In the order of rounds.
  virtual void ended(const RoundEnd& round) = 0;
};

}  // namespace steelyard::balancing
