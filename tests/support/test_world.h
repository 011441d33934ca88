// The world for tests: toy jobs (tests/support/toy_job.h) on the real machines in a sim::World, with seeded
// delays and whatever faults a test asks for. Every version of the parameters is looked at
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

// The number-th worker of a world that is populated.
constexpr NodeId worker_number(std::uint64_t number) { return {Role::worker, 2 + number}; }

// This node dies before the at-th message of all.
inline sim::Fault kill_at(std::uint64_t at, NodeId node) {
  return {.effect = sim::Fault::Effect::kill, .first = at, .count = 1, .node = node};
}

class World final : sim::Observer, sim::ComputeModel {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::string policy = "equal";
    Progress from;                     // where to begin
    std::vector<float> initial;        // parameters to begin with; empty: zeros
    double slowest_ms = 20;            // a piece takes up to so long
    std::vector<sim::Fault> faults{};  // beside delays of up to two milliseconds
    // Before the n-th message of all the scheduler's process is killed, with the checkpointer; it comes back
    // after at most so long, made of what the scheduler had heard (scheduler/recovery/journaled.h).
    std::set<std::uint64_t> scheduler_dies_at{};
    double back_within_ms = 300;
    bool members_notice = true;  // and what they say then waits for it; otherwise that is lost
    // On another machine. A scheduler that dies while it counts comes back late, if at all: the standby
    // leads. But where the two had just lost one another, the scheduler may have gone on alone.
    bool standby = false;
    double back_late_s = std::numeric_limits<double>::infinity();
    // Bytes of the scheduler's journal, of which it makes its state.
    std::uint64_t condense_after = std::numeric_limits<std::uint64_t>::max();
    double journal_late_ms = 0;  // a record is on the disk so long after it was handed over
  };

  World(Job job, Options options);
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  NodeId add_worker(const std::string& name);
  NodeId add_shard(const std::string& name, bool mirror = false);
  // Named worker-0, worker-1 ... and server-0, server-1 ...; of a job with replicas, as many mirrors as
  // shards, each in a process of its own.
  void populate(int workers, int shards);
  void kill(NodeId node) { world_.kill(node); }
  void break_connection(NodeId a, NodeId b) { world_.cut(a, b); }
  void interrupt();  // the scheduler
  // From when it is ready, nothing that it says to the scheduler arrives. Takes the place of on_delivery.
  void hush(NodeId worker);
  void say_again(const Envelope& envelope) { world_.post(envelope); }  // what was once said comes once more
  bool step();
  void kill_scheduler();                                            // and bring it back, as in Options
  void bring_back_soon() { back_at_ = now() + milliseconds(100); }  // also where there is a standby
  [[nodiscard]] std::uint64_t restarts() const { return restarts_; }
  [[nodiscard]] std::uint64_t take_overs() const { return take_overs_; }
  [[nodiscard]] std::uint64_t condensed() const { return condensed_; }
  [[nodiscard]] NodeId standby() const { return standby_node_; }
  // Until the scheduler has finished, or `most` steps. Returns whether it has.
  bool run(std::size_t most = 200'000);

  [[nodiscard]] std::uint64_t delivered() const { return world_.delivered(); }
  [[nodiscard]] Time now() const { return world_.now(); }
  [[nodiscard]] bool has_scheduler() const { return scheduler_ != nullptr; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }  // not while it is dead
  [[nodiscard]] const std::vector<NodeId>& shards() const { return shards_; }
  [[nodiscard]] const std::vector<NodeId>& workers() const { return workers_; }
  [[nodiscard]] bool alive(NodeId node) const { return world_.find(node) != nullptr; }
  [[nodiscard]] bool is_mirrored(NodeId shard) const;   // which is alive
  [[nodiscard]] std::vector<float> parameters() const;  // as the shards hold them
  [[nodiscard]] const std::vector<float>& expected(Version version) { return checks_.expected(version); }
  [[nodiscard]] const std::vector<Snapshot>& stored() const { return stored_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return checks_.violations(); }
  [[nodiscard]] const std::vector<ToRecorder>& recorded() const { return recorded_; }
  [[nodiscard]] std::string describe() const;  // where everybody stands, for a failure's message

  // What only code can say.
  std::function<bool(const Envelope&)> on_delivery;  // may kill, break and add; false: the message is lost
  std::function<void(NodeId)> on_kill;
  std::function<void(GradientReady&)> on_gradient;  // may spoil a gradient
  std::function<double(NodeId)> slowness;           // a worker takes so many times as long

 private:
  bool arrives(const Envelope& envelope) override;
  void told(const ToRecorder& message) override { recorded_.push_back(message); }
  void start_checkpointer(NodeId node);
  [[nodiscard]] std::unique_ptr<balancing::Policy> policy() const {
    return balancing::make_policy(job_.sync.paced ? "orchestra"
                                                  : options_.policy);  // the only one that paces
  }
  void write_down(JournalRecord::What what) { append(journal_, {world_.now(), std::move(what)}); }
  void start_scheduler(const Job& job, const Progress& from);
  [[nodiscard]] std::size_t unwritten();  // records
  void lose_unwritten();
  void start_standby();
  void standby_writes(const JournalRecord& record);
  [[nodiscard]] std::optional<Standby::Place> arbiter() const;
  void die_hearing(const Envelope& envelope);
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
  std::unique_ptr<Scheduler> scheduler_;  // null: it is dead
  Journaled* journaled_ = nullptr;        // around it
  NodeId standby_node_{Role::standby, 0}, reclaim_node_{Role::standby, 0};
  const Reclaim* reclaim_ = nullptr;  // asked on behalf of a scheduler that is to come back
  const Standby* standby_ = nullptr;
  std::vector<std::byte> standbys_journal_;
  NodeId checkpointer_{Role::checkpointer, 1};
  std::vector<std::byte> journal_;  // with what is not on the disk yet
  struct Unwritten {
    Time until;
    std::size_t begin = 0;  // in the journal
  };
  std::deque<Unwritten> unwritten_;
  std::vector<ToRecorder> told_before_;  // it was begun anew
  std::uint64_t condensed_ = 0;
  std::set<std::uint64_t> dies_at_;
  Time back_at_{};
  std::uint64_t restarts_ = 0, take_overs_ = 0;
  std::vector<NodeId> shards_, workers_;  // all that ever were
  std::vector<Snapshot> stored_;
  std::vector<ToRecorder> recorded_;
};

}  // namespace steelyard::test
