// The world: a host for the machines of a job under virtual time.
//
// Scheduler, checkpointer, shards and workers are the product's own; links come from sim/network.h, and in
// the place of each worker's compute node stands a device model. Gradients are one small whole number per
// slice, a function of the positions, so that each version of a shard proves that every position was counted
// exactly once; or, where the scenario trains, those of its model.
//
// Deterministic: what happens follows from scenario, seed and policy. A plain object, of one thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "balancing/policy/oracle.h"
#include "scheduler/invariants.h"
#include "server/checkpointer.h"
#include "server/shard.h"
#include "sim/batches.h"
#include "sim/coverage_probe.h"
#include "sim/device.h"
#include "sim/event_queue.h"
#include "sim/network.h"
#include "sim/result.h"
#include "sim/scenario.h"
#include "worker/worker.h"

namespace steelyard::sim {

class World {
 public:
  // When the scheduler's invariants are looked at. `rounds`: whenever a round begins or membership changes.
  enum class Checks : std::uint8_t { none, rounds, steps };
  struct Options {
    Checks checks = Checks::rounds;
    std::optional<std::size_t> alone;  // this worker is the only one, from first to last
    bool trains = true;                // if the scenario does; otherwise only its times are simulated
  };
  // The policy is made by the caller, who may use the true curves of the slots; they refer to this world.
  using MakePolicy = std::function<std::unique_ptr<balancing::Policy>(const balancing::TrueCurves&)>;

  // The scenario must outlive the world.
  World(const Scenario& scenario, const MakePolicy& make_policy, Options options);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  // Until the job is over. Throws Failure (failed) if it cannot end: nobody is left to work, or an
  // invariant is broken.
  void run();

  [[nodiscard]] const std::vector<RoundResult>& rounds() const { return rounds_; }
  [[nodiscard]] const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<float>& parameters() const {
    return parameters_;
  }                                                                               // the last, of a training
  [[nodiscard]] const Staleness& staleness() const { return ended_->staleness; }  // once it has run
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }  // the scheduler's
  // What the rounds came to so far: global batches that were gone through, and versions of the parameters
  // that were made - one a round, and where pushes are applied at once, one for each worker of a round.
  struct Tally {
    std::uint64_t batches = 0, updates = 0;
  };
  [[nodiscard]] const Tally& tally() const { return tally_; }

 private:
  struct Node;
  struct Sent {
    Envelope envelope;
    std::uint32_t stamp = 0;  // of the connection
  };
  struct Computing {
    NodeId worker;
    Compute order;
    double begun_s = 0, seconds = 0;
    std::uint64_t number = 0;  // of the worker's computations: a later one makes it void
  };

  void start_worker(std::size_t worker);
  void lose(std::size_t worker);
  void cut(std::size_t worker);

  bool step();
  void wake(std::uint64_t number);
  void deliver(const Envelope& envelope);
  void finish(const Computing& done);
  void take(Node& node, Outbox& out);
  void post(Envelope&& envelope);
  void compute(Node& node, const Compute& order);
  [[nodiscard]] double since_begin() const;  // seconds, of the first round
  void record(const ToRecorder& message);
  void arm(Node& node);

  void after_scheduler(bool membership);
  void begin_round(const Open& open);
  [[nodiscard]] balancing::TrueCurves truth();
  [[nodiscard]] double slowdown(const Envelope& envelope) const;
  [[nodiscard]] bool anybody_left() const;
  void break_off(const std::string& why) const;

  const Scenario& scenario_;
  const Options options_;
  const Devices devices_;
  const Job job_;
  const Batches batches_;
  Network network_;
  std::unique_ptr<Trainer> trainer_;  // null: nothing is trained
  Time now_{std::chrono::seconds(1)};
  Time begun_;  // the first round

  std::vector<std::unique_ptr<Node>> nodes_;  // by node number; dead ones are null
  std::vector<Envelope> spare_;               // memory for the next outbox
  EventQueue<Sent> messages_;
  EventQueue<Computing> computing_;
  EventQueue<std::uint64_t> timers_;    // node numbers
  std::vector<std::uint64_t> node_of_;  // by worker: number of its living node, or 0
  std::vector<std::size_t> worker_in_;  // by slot
  const Scheduler* scheduler_ = nullptr;

  Round next_batch_ = 0;                           // global batches below have begun
  Round next_round_ = 0;                           // rounds below have begun
  std::vector<std::vector<const Event*>> begins_;  // by round: kills and cuts
  std::vector<std::vector<std::size_t>> comes_;    // by round: workers that start in it
  const SyncMode mode_;
  CoverageProbe probe_;
  Invariants invariants_;

  std::vector<RoundResult> rounds_;
  Tally tally_;
  std::vector<Evaluation> evaluations_;
  std::vector<float> parameters_;
  double trained_s_ = 0;
  std::vector<std::string> notes_;
  std::uint64_t quiet_ = 0;  // what has happened since a round was last recorded
  std::optional<Ended> ended_;
};

// The job that the machines are told. `trains`: the scenario's training, and not the probe's numbers.
Job job_of(const Scenario& scenario, bool alone, bool trains);

}  // namespace steelyard::sim
