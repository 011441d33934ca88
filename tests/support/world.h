// A world for tests: the real machines under virtual time, with seeded delays and seeded misfortune.
//
// Keeps exactly the promises of a link (per pair in order, at most once; anything may vanish with its node or
// its connection) and breaks everything else. Gradients are small integers, so sums are exact in any order:
// whatever died or was resized, the parameters must equal those of the plain loop, bit for bit, at every
// version. Where pushes are applied at once there is no plain loop, and gradients leave footprints instead
// (tests/support/footprints.h).
#pragma once

#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "scheduler/invariants.h"
#include "scheduler/scheduler.h"
#include "server/checkpointer.h"
#include "server/shard.h"
#include "tests/support/footprints.h"
#include "worker/worker.h"

namespace steelyard::test {

// A job of `epochs` epochs over `samples` samples with a model of `parameters` floats in small slices.
Job toy_job(std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs, std::uint32_t workers,
            std::uint32_t shards, std::uint64_t parameters = 24, std::uint64_t slice_size = 5);

// The same for a mode that applies pushes at once: slices of a float for each round, plain SGD.
Job footprint_job(const std::string& sync, std::uint64_t samples, std::uint64_t batch, std::uint64_t epochs,
                  std::uint32_t workers, std::uint32_t shards, std::uint64_t slices = 4);

// The gradient of one position: small integers.
float toy_gradient(Position position, std::uint64_t epoch, std::uint64_t element);

class World {
 public:
  struct Options {
    std::uint64_t seed = 1;
    std::string policy = "equal";
    Progress from;               // where to begin
    std::vector<float> initial;  // parameters to begin with; empty: zeros
    double slowest_ms = 20;      // a piece takes up to so long
  };

  World(Job job, Options options);
  ~World();

  NodeId add_worker(const std::string& name);
  NodeId add_shard(const std::string& name);
  void populate(int workers, int shards);  // named worker-0, worker-1 ... and server-0, server-1 ...
  void kill(NodeId node);
  void break_connection(NodeId a, NodeId b);
  void interrupt(NodeId node);
  // From when it is ready, nothing that it says to the scheduler arrives. Takes the place of on_delivery.
  void hush(NodeId worker);
  void say_again(const Envelope& envelope) { post(envelope); }  // what was once said comes once more
  // Delivers one envelope, or lets time pass until somebody wakes. False when all have finished or nothing
  // can happen.
  bool step();
  // Until the scheduler has finished, or `most` steps. Returns whether it has.
  bool run(std::size_t most = 200'000);

  [[nodiscard]] std::uint64_t delivered() const { return delivered_; }
  [[nodiscard]] const Scheduler& scheduler() const { return *scheduler_; }
  [[nodiscard]] const std::vector<NodeId>& shards() const { return shard_nodes_; }
  [[nodiscard]] const std::vector<NodeId>& workers() const { return worker_nodes_; }
  [[nodiscard]] bool alive(NodeId node) const { return nodes_.contains(node); }
  [[nodiscard]] std::vector<float> parameters() const;                // as the shards hold them
  [[nodiscard]] const std::vector<float>& expected(Version version);  // of the plain loop
  [[nodiscard]] const std::vector<Snapshot>& stored() const { return stored_; }
  [[nodiscard]] const std::vector<std::string>& violations() const { return violations_; }
  [[nodiscard]] const std::vector<Envelope>& recorded() const {
    return recorded_;
  }  // what the recorder was told
  [[nodiscard]] std::vector<std::string>& transcript() { return transcript_; }
  [[nodiscard]] std::string describe() const;        // where everybody stands, for a failure's message
  std::function<bool(const Envelope&)> on_delivery;  // may misbehave here; false: the envelope is lost
  std::function<void(GradientReady&)> on_gradient;   // may spoil a gradient

 private:
  struct Node;
  struct Event;

  void post(Envelope envelope);
  void deliver(const Envelope& envelope);
  void take(NodeId node, Outbox& out);
  void compute(NodeId worker, const Compute& order);
  void check(NodeId node);
  void check_shard(const Shard& shard);
  void check_stored(const Snapshot& snapshot);

  Job job_;
  SyncMode mode_;
  Footprints footprints_;
  Options options_;
  Random random_;
  Time now_{std::chrono::seconds(1)};
  std::uint64_t sequence_ = 0, delivered_ = 0, next_number_ = 1;
  std::map<NodeId, std::unique_ptr<Node>> nodes_;
  std::vector<Event> events_;                       // a heap: earliest first
  std::map<std::pair<NodeId, NodeId>, Time> last_;  // per pair, in order
  std::map<NodeId, Round> abandoned_;
  Scheduler* scheduler_ = nullptr;
  Invariants invariants_;
  std::map<NodeId, Shard*> shards_;
  std::map<NodeId, Worker*> worker_machines_;
  std::vector<NodeId> shard_nodes_, worker_nodes_;
  std::vector<std::vector<float>> expected_;  // from options_.from.version on
  std::vector<Snapshot> stored_;
  std::vector<std::string> violations_;
  std::vector<Envelope> recorded_;
  std::vector<std::string> transcript_;
};

}  // namespace steelyard::test
