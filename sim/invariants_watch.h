// Checks the scheduler's invariants (scheduler/rounds/invariants.h) while a world runs.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocol/messages.h"
#include "protocol/sync_mode.h"
#include "scheduler/rounds/invariants.h"
#include "server/shard/shard.h"
#include "sim/hosted.h"

namespace steelyard::sim {

// ExpectedHubs: the expected average of all hubs, round by round, in a mode with hubs
// (protocol/local_steps.h), if the gradient of every position is known: computes server/shard/close_rule.h
// from the computed pieces.
//
// The average is weighted by the positions since the last mixing of hubs. If shares change between rounds,
// its step therefore differs from the mean over the round's positions, so each hub is computed separately.
// CoverageProbe owns one. The rate of every step is 1, and all hubs begin at 0.
class ExpectedHubs {
 public:
  explicit ExpectedHubs(const Hubs& hubs);

  // A piece keeps its hub, whichever worker computes it; computing a piece twice changes nothing.
  void computed(const Piece& piece);
  // Closes the next round. `gradient` returns the sum over the positions of an interval. Returns the
  // violation as a text, or an empty text.
  std::string close(Interval positions, const std::function<double(Interval)>& gradient);

  struct Average {
    double value = 0;
    double positions = 0;  // over which it is the average
  };
  // After each closed round.
  [[nodiscard]] const std::vector<Average>& averages() const { return averages_; }

 private:
  struct Hub {
    double value = 0;
    double positions = 0;  // since the last mixing
  };
  // The average of these hubs; if none has positions, the value of the first.
  [[nodiscard]] Average mean(const std::vector<HubNumber>& of) const;
  void mix();

  const Hubs hubs_;
  std::map<HubNumber, Hub> state_;
  std::map<Round, std::map<HubNumber, IntervalSet>> pieces_;  // of rounds not yet closed
  std::vector<Average> averages_;
};

// CoverageProbe: gradients that prove that every position of every round was counted exactly once.
//
// The gradient of a position is a small integer that differs from position to position, so the sum over an
// interval is exact in a float and known without adding. With a learning rate of 1, each version of a shard
// is the previous one less the mean over the round's positions; a position counted twice, or not at all,
// shows there.
//
// If pushes are applied on arrival, this holds for all rounds together, whenever no round is open: the
// gradient of a push is multiplied by the weight by which the shard divides it. Pieces of equal weights are
// not checked, and neither are gathered ones, since the divisor of such a push depends on the other workers'
// pushes.
class CoverageProbe {
 public:
  // `batch`: the global batch of the job.
  explicit CoverageProbe(const SyncMode& mode = {}, std::uint64_t batch = UINT64_MAX);

  [[nodiscard]] double gradient(Interval positions) const;  // summed
  Blob pushed(const Compute& order);                        // the same, as a worker pushes it

  // A BeginRound that a shard receives. Repeated rounds change nothing.
  void open(const BeginRound& open);

  // Checks what a shard has closed since the last call. Returns the violation as a text, or an empty text.
  std::string look(NodeId node, const Shard& shard);

 private:
  struct Seen {
    Version version = 0;
    float value = 0;
  };
  [[nodiscard]] std::string look_at_all(const SliceMemory& slice, const std::string& where) const;
  [[nodiscard]] std::string look_at_average(const SliceMemory& slice, const std::string& where);

  const SyncMode mode_;
  const std::uint64_t batch_;
  ExpectedHubs hubs_;                            // of a mode with hubs
  double all_ = 0;                               // sum of the means over the positions of all rounds begun
  std::shared_ptr<std::vector<float>> numbers_;  // memory of many pushed values
  std::size_t used_ = 0;                         // of these
  std::vector<double> before_;                   // prefix sums over the positions of a period
  struct Expected {
    Interval whole;
    double gradient = 0;  // summed over the positions
    std::uint64_t positions = 0;
  };
  std::vector<Expected> rounds_;
  std::map<NodeId, std::vector<Seen>> seen_;  // by slice
};

class InvariantsWatch final : public Observer {
 public:
  // `rounds`: when a round begins or membership changes. `steps`: after every step of the scheduler.
  enum class When : std::uint8_t { never, rounds, steps };
  using Complain = std::function<void(const std::string&)>;  // may throw
  using Find = std::function<const Scheduler&(const Hosted& its_node)>;

  InvariantsWatch(When when, Complain complain, Find find = machine_of<Scheduler>)
      : when_(when), complain_(std::move(complain)), find_(std::move(find)) {}
  void stepped(const Hosted& node, const Envelope* in) override;
  // A new scheduler starts from an earlier state than the old one had reached.
  void begin_anew() { invariants_ = {}; }

 private:
  const When when_;
  const Complain complain_;
  const Find find_;
  Invariants invariants_;
  Round next_round_ = 0;  // rounds below have begun
};

}  // namespace steelyard::sim
