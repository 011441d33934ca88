// ScenarioRun: runs a scenario's cluster and events in a world. RunResults collects the results.
//
// Scheduler, checkpointer, shards and workers are the product's own; the scenario's devices supply the time
// of each batch. Gradients are one small integer per slice, a function of the positions, so that each version
// of a shard proves that every position was counted exactly once; if the scenario trains, they are those of
// its model.
//
// Deterministic: everything follows from scenario, seed and policy. A plain object for one thread.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "balancing/oracle.h"
#include "protocol/messages.h"
#include "sim/batches.h"
#include "sim/hosted.h"
#include "sim/invariants_watch.h"
#include "sim/run_results.h"
#include "sim/scenario.h"
#include "sim/server_clock.h"
#include "sim/simulated_device.h"
#include "sim/world.h"

namespace steelyard::sim {

class ScenarioRun final : ComputeModel, Observer {
 public:
  using Checks = InvariantsWatch::When;
  struct Options {
    Checks checks = Checks::rounds;
    std::optional<std::size_t> alone;  // the only worker, from start to end
    bool trains = true;                // if the scenario does; false: simulates its times only
  };
  // The caller makes the policy. It may use the true curves of the slots, which refer to this run.
  using MakePolicy = std::function<std::unique_ptr<balancing::Policy>(const balancing::TrueCurves&)>;

  // The scenario must outlive the run.
  ScenarioRun(const Scenario& scenario, const MakePolicy& make_policy, Options options);
  ScenarioRun(const ScenarioRun&) = delete;
  ScenarioRun& operator=(const ScenarioRun&) = delete;

  // Runs until the job ends. Throws Failure (failed) if it cannot end: no worker is left, or an invariant is
  // violated.
  void run();

  [[nodiscard]] const RunResults& results() const { return results_; }

 private:
  void populate(const MakePolicy& make_policy);
  void start_worker(std::size_t worker);
  void lose(std::size_t worker);
  void cut(std::size_t worker);
  [[nodiscard]] NodeId shard_node(std::uint32_t shard) const;

  [[nodiscard]] double seconds_for(NodeId worker, const Compute& order, Time now) override;
  [[nodiscard]] std::uint64_t micro_batch(const Compute& order) const override;
  [[nodiscard]] double seconds_until(const Order& order, std::uint64_t done) override;
  void finish(const Order& done, const Say& say) override;
  [[nodiscard]] double seconds_before(const Hosted&, const Envelope& in) override {
    return servers_.seconds_before(in);
  }
  [[nodiscard]] double seconds_after(const Hosted& node) override { return servers_.seconds_after(node); }
  void stepped(const Hosted& node, const Envelope* in) override;

  void begin_rounds(const Scheduler& scheduler);
  void begin_round(const BeginRound& open);
  [[nodiscard]] double since_begin(Time at) const;  // seconds since the first round began
  [[nodiscard]] balancing::TrueCurves truth();
  void break_off(const std::string& why) const;

  const Scenario& scenario_;
  const Options options_;
  const Devices devices_;
  const Job job_;
  const Batches batches_;
  ServerClock servers_;
  World world_;
  std::unique_ptr<Trainer> trainer_;  // null: no training
  Time begun_;                        // begin of the first round

  std::uint64_t next_number_;           // for the next node
  std::vector<std::uint64_t> node_of_;  // by worker: number of its living node, or 0
  std::uint64_t living_ = 0;            // workers with a living node
  std::vector<std::size_t> worker_at_;  // by node number
  std::vector<std::size_t> worker_in_;  // by slot

  // The scenario's events, by the round in which this run executes them.
  struct Calendar {
    std::vector<std::vector<const Event*>> begins;  // by round: kills and cuts
    std::vector<std::vector<std::size_t>> comes;    // by round: workers that start in it
    bool network_changes = false;                   // true if an event changes it
  };
  [[nodiscard]] static Calendar calendar_of(const Scenario& scenario, bool alone);
  const Calendar calendar_;
  Round next_batch_ = 0;  // global batches below have begun
  Round next_round_ = 0;  // rounds below have begun
  CoverageProbe probe_;
  InvariantsWatch invariants_;
  RunResults results_;
};

// The job that the machines receive. `trains`: with the scenario's training instead of the probe's integers.
Job job_of(const Scenario& scenario, bool alone, bool trains);

}  // namespace steelyard::sim
