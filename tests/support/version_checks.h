// Checks every version of the parameters while a toy job runs (tests/support/toy_job.h).
//
// After any losses and changes of size, the parameters must equal those of the plain loop bit for bit at
// every version, on shards and workers. If pushes are applied on arrival there is no plain loop, and
// gradients leave footprints instead (tests/support/footprints.h). If pushes or pulls are coded, all workers
// must compute from the same bits. With hubs every copy must equal that of the plain loop with hubs
// (tests/support/hub_loop.h), except for the rounding of averages.
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

// The undivided sums added to slices with gathered pushes: each step multiplied by its divisor. The divisor
// is known if a message was one push; a slice that took several steps at once is no longer checked.
class GatheredSums {
 public:
  GatheredSums(const Job& job, Version first) : job_(job), first_(first) {}
  // Called after a shard's step. Returns the sums as Footprints::look needs them; empty if unknown.
  // `added`: pushes that the shard has added so far.
  std::span<const float> in(NodeId shard, std::uint64_t added, const SliceMemory& slice,
                            const Envelope* message);

 private:
  struct Seen {
    std::vector<float> values, in;
    std::uint64_t steps = 0, gathered = 0, added = 0;
    bool known = true;
  };
  const Job& job_;
  const Version first_;
  std::map<std::pair<NodeId, std::uint64_t>, Seen> seen_;  // by the slice's place
};

class VersionChecks final : public sim::Observer {
 public:
  // The job must outlive this. Starts at `from`, with these parameters.
  VersionChecks(const Job& job, const Progress& from, std::vector<float> initial);

  bool arrives(const Envelope& envelope) override;
  void ordered(NodeId worker, const Compute& order) override;
  void stepped(const sim::Hosted& node, const Envelope* in) override;
  void stored(const Snapshot& snapshot);
  void complain(const std::string& trouble);  // ignores an empty string

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
  // With backup workers the scheduler defines the rounds; no position of an epoch may be in two of them.
  std::map<Round, BeginRound> opens_;
  std::map<std::uint64_t, IntervalSet> taken_;  // by epoch
  // With coded messages: the values from which the first worker computed, by version.
  std::map<Round, std::vector<float>> received_;
  std::vector<std::string> violations_;
};

}  // namespace steelyard::test
