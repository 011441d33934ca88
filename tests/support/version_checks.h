// Looks at every version of the parameters while a toy job runs (tests/support/toy_job.h).
//
// Whatever died or was resized, the parameters must equal those of the plain loop, bit for bit, at every
// version: on the shards and wherever somebody computes from them. Where pushes are applied at once there is
// no plain loop, and gradients leave footprints instead (tests/support/footprints.h). Where pushes or pulls
// are coded, all compute from the same parameters, bit for bit. With hubs every copy is that of the plain
// loop with hubs (tests/support/hub_loop.h), but for the rounding of averages.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "scheduler/rounds/epoch_cursor.h"
#include "server/checkpoint/checkpoint.h"
#include "server/mirror/replica.h"
#include "sim/hosted.h"
#include "tests/support/footprints.h"
#include "tests/support/hub_loop.h"

namespace steelyard::test {

// What has come into slices whose pushes are gathered: each step, multiplied by what it was divided by. That
// is known where a message was one push; of a slice that took several steps at once nothing is said any more.
class GatheredSums {
 public:
  GatheredSums(const Job& job, Version first) : job_(job), first_(first) {}
  // After a shard's step. What is in, as Footprints::look wants it; empty: not known.
  std::span<const float> in(NodeId shard, const SliceMemory& slice, const Envelope* message);

 private:
  struct Seen {
    std::vector<float> values, in;
    std::uint64_t steps = 0, gathered = 0;
    bool known = true;
  };
  const Job& job_;
  const Version first_;
  std::map<std::pair<NodeId, std::uint64_t>, Seen> seen_;  // by the slice's place
};

class VersionChecks final : public sim::Observer {
 public:
  // The job must outlive it; `from`: where it begins, with these parameters.
  VersionChecks(const Job& job, const Progress& from, std::vector<float> initial);

  bool arrives(const Envelope& envelope) override;
  void ordered(NodeId worker, const Compute& order) override;
  void stepped(const sim::Hosted& node, const Envelope* in) override;
  void stored(const Snapshot& snapshot);
  void complain(const std::string& trouble);  // if there is one

  [[nodiscard]] const std::vector<float>& expected(Version version);  // of the plain loop
  [[nodiscard]] const Footprints& footprints() const { return footprints_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }

 private:
  void advance();
  void opened(const BeginRound& open);

  const Job& job_;
  const SyncMode mode_;
  Footprints footprints_;
  HubLoop hubs_;
  GatheredSums gathered_;
  // The plain loop.
  const Version first_;
  EpochCursor cursor_;
  std::vector<float> momentum_;
  std::vector<std::vector<float>> versions_;  // from first_ on
  // With backup workers rounds are what the scheduler says, and no position of an epoch is in two of them.
  std::map<Round, BeginRound> opens_;
  std::map<std::uint64_t, IntervalSet> taken_;  // by epoch
  // Where what travels is coded: what those were told who computed first from a version.
  std::map<Round, std::vector<float>> told_;
  std::vector<std::string> violations_;
};

}  // namespace steelyard::test
