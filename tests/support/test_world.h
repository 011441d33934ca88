// The world for tests: toy jobs (tests/support/toy_job.h) on the real state machines in a sim::World, with
// seeded delays and the faults that a test requests. Checks every version of the parameters
// (tests/support/version_checks.h), and the scheduler's invariants after every step.
#pragma once

#include <deque>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "balancing/policies.h"
#include "core/random.h"
#include "scheduler/recovery/journaled.h"
#include "scheduler/recovery/reclaim.h"
#include "scheduler/recovery/standby.h"
#include "server/checkpoint/checkpointer.h"
#include "sim/invariants_watch.h"
#include "sim/world.h"
#include "tests/support/toy_job.h"
#include "tests/support/version_checks.h"

namespace steelyard::test {

// The worker with this number in a populated world.
constexpr NodeId worker_number(std::uint64_t number) { return {Role::worker, 2 + number}; }

// Kills this node before message number `at` of the world.
inline sim::Fault kill_at(std::uint64_t at, NodeId node) {
  return {.effect = sim::Fault::Effect::kill, .first = at, .count = 1, .node = node};
}

class World final : sim::Observer, sim::ComputeModel {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::string policy = "equal";
    Progress from;                     // progress at the start
    std::vector<float> initial;        // initial parameters; empty: zeros
    double slowest_ms = 20;            // most time for a piece
    std::vector<sim::Fault> faults{};  // in addition to delays of up to 2 ms
    // Kills the scheduler's process, with the checkpointer, before these messages of the world. It is
    // restarted from its journal within `back_within_ms` (scheduler/recovery/journaled.h).
    std::set<std::uint64_t> scheduler_dies_at{};
    double back_within_ms = 300;
    bool members_notice = true;  // members are notified, so their messages wait; otherwise these are lost
    // A standby on another machine. If the scheduler is lost while the standby counts, it is restarted only
    // after `back_late_s`, and the standby leads. If the two had just lost each other, the scheduler may have
    // continued alone.
    bool standby = false;
    double back_late_s = std::numeric_limits<double>::infinity();
    // Size of the scheduler's journal, in bytes, at which it is condensed to the state.
    std::uint64_t condense_after = std::numeric_limits<std::uint64_t>::max();
    double journal_late_ms = 0;  // time until a record is on disk
  };

  World(Job job, Options options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  NodeId add_worker(const std::string& name);
  NodeId add_shard(const std::string& name, bool mirror = false);
  // Adds worker-0, worker-1 ... and server-0, server-1 ...; in a job with replicas also as many mirrors as
  // shards, each in its own process.
  void populate(int workers, int shards);
  void kill(NodeId node) { world_.kill(node); }
  void break_connection(NodeId a, NodeId b) { world_.cut(a, b); }
  void interrupt();  // the scheduler
  // Once the worker is ready, its messages to the scheduler are lost. Replaces on_delivery.
  void silence(NodeId worker);
  void repeat(const Envelope& envelope) { world_.post(envelope); }  // delivers a message once more
  bool step();
  void kill_scheduler();                                            // it is restarted as in Options
  void bring_back_soon() { back_at_ = now() + milliseconds(100); }  // also with a standby
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] std::uint64_t take_overs() const { return take_overs_; }
  [[nodiscard]] std::uint64_t condensed() const { return condensed_; }
  [[nodiscard]] NodeId standby() const { return standby_node_; }
  // Runs until the scheduler has finished, or `most` steps. Returns whether it has.
  bool run(std::size_t most = 200'000);

  [[nodiscard]] std::uint64_t delivered() const { return world_.delivered(); }
  [[nodiscard]] Time now() const { return world_.now(); }
  [[nodiscard]] bool has_scheduler() const { return scheduler_ != nullptr; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }  // not while it is lost
  [[nodiscard]] const std::vector<NodeId>& shards() const { return shards_; }
  [[nodiscard]] const std::vector<NodeId>& workers() const { return workers_; }
  [[nodiscard]] bool alive(NodeId node) const { return world_.find(node) != nullptr; }
  [[nodiscard]] bool is_mirrored(NodeId shard) const;   // the shard must be alive
  [[nodiscard]] std::vector<float> parameters() const;  // of the shards
  [[nodiscard]] const std::vector<float>& expected(Version version) { return checks_.expected(version); }
  [[nodiscard]] const std::vector<Snapshot>& stored() const { return stored_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return checks_.violations(); }
  [[nodiscard]] const std::vector<ToRecorder>& recorded() const { return recorded_; }
  [[nodiscard]] std::string describe() const;  // the state of all nodes, for failure messages

  // Hooks for tests.
  std::function<bool(const Envelope&)> on_delivery;  // may kill, break and add; false drops the message
  std::function<void(NodeId)> on_kill;
  std::function<void(GradientReady&)> on_gradient;  // may change a gradient
  std::function<double(NodeId)> slowness;           // factor on a worker's computing time
  // Seconds for this number of positions, instead of a random time.
  std::function<double(NodeId, std::uint64_t)> takes;

 private:
  bool arrives(const Envelope& envelope) override;
  void told(const ToRecorder& message) override { recorded_.push_back(message); }
  void start_checkpointer(NodeId node);
  [[nodiscard]] std::unique_ptr<balancing::Policy> policy() const {
    return balancing::make_policy(job_.sync.paced ? "orchestra"
                                                  : options_.policy);  // the only policy that paces
  }
  void write_down(JournalRecord::What what) { append(journal_, {world_.now(), std::move(what)}); }
  void start_scheduler(const Job& job, const Progress& from);
  [[nodiscard]] std::size_t unwritten();  // records
  void lose_unwritten();
  void start_standby();
  void standby_writes(const JournalRecord& record);
  [[nodiscard]] std::optional<Standby::Place> arbiter() const;
  void die_at(const Envelope& envelope);
  void take_over();
  void bring_back(bool granted = false);
  bool may_lead();
  void reclaimed();
  void killed(NodeId node) override;
  [[nodiscard]] double seconds_for(NodeId worker, const Compute& order, Time now) override;
  [[nodiscard]] std::uint64_t micro_batch(const Compute& order) const override;
  void finish(const Order& done, const Say& say) override;

  const Job job_;
  const SyncMode mode_;
  const Options options_;
  Random random_;
  sim::World world_;
  VersionChecks checks_;
  sim::InvariantsWatch invariants_;
  std::unique_ptr<Scheduler> scheduler_;  // null while it is lost
  Journaled* journaled_ = nullptr;        // wraps it
  NodeId standby_node_{Role::standby, 0}, reclaim_node_{Role::standby, 0};
  const Reclaim* reclaim_ = nullptr;  // claims the job for a scheduler that restarts
  const Standby* standby_ = nullptr;
  std::vector<std::byte> standbys_journal_;
  NodeId checkpointer_{Role::checkpointer, 1};
  std::vector<std::byte> journal_;  // including records that are not on disk yet
  struct Unwritten {
    Time until;
    std::size_t begin = 0;  // in the journal
  };
  std::deque<Unwritten> unwritten_;
  std::vector<ToRecorder> recorded_before_;  // before the journal was condensed
  std::uint64_t condensed_ = 0;
  std::set<std::uint64_t> dies_at_;
  Time back_at_{};
  std::uint64_t restarts_ = 0, take_overs_ = 0;
  std::vector<NodeId> shards_, workers_;  // including lost ones
  std::vector<Snapshot> stored_;
  std::vector<ToRecorder> recorded_;
};

}  // namespace steelyard::test
