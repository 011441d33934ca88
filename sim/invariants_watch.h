// Looks at the scheduler's invariants (scheduler/rounds/invariants.h) while a world runs.
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

// ExpectedHubs: what the average of all hubs comes to, round by round, in a mode with hubs
// (protocol/local_steps.h), where the gradient of every position is known: server/shard/close_rule.h, worked
// out from the pieces that were computed.
//
// The average is weighted by the positions since the hubs mixed last. So with shares that change from round
// to round it moves by other than the mean over the round's positions, and has to be followed hub by hub.
// CoverageProbe holds one. The rate of every step is 1, and all hubs begin at 0.
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
class CoverageProbe {
 public:
  explicit CoverageProbe(const SyncMode& mode = {});

  [[nodiscard]] double gradient(Interval positions) const;  // summed
  Blob pushed(const Compute& order);                        // the same, as a worker pushes it

  // A round as a shard is told of it. Rounds that were told before change nothing.
  void open(const BeginRound& open);

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

class InvariantsWatch final : public Observer {
 public:
  // `rounds`: whenever a round begins or membership changes. `steps`: after every step of the scheduler.
  enum class When : std::uint8_t { never, rounds, steps };
  using Complain = std::function<void(const std::string&)>;  // may throw
  using Find = std::function<const Scheduler&(const Hosted& its_node)>;

  InvariantsWatch(When when, Complain complain, Find find = machine_of<Scheduler>)
      : when_(when), complain_(std::move(complain)), find_(std::move(find)) {}
  void stepped(const Hosted& node, const Envelope* in) override;
  // Another scheduler takes the place of one that had come further than anybody has heard.
  void begin_anew() { invariants_ = {}; }

 private:
  const When when_;
  const Complain complain_;
  const Find find_;
  Invariants invariants_;
  Round next_round_ = 0;  // rounds below have begun
};

}  // namespace steelyard::sim
