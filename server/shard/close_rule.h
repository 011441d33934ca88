// CloseRule: how pushes become the next version of a slice, and which pulls the slice can answer. This is all
// that a sync mode changes in a shard. Whether a round is covered does not depend on the mode:
// Shard::close_covered() compares the slice's ledger with BeginRound::quorum and then calls close().
//
//  exact versions      bsp, flexrr, backup and modes with local steps. The slice sums pushes. When the round
//                      is covered, it takes one step with their average, which makes the next version.
//  applied on arrival  ssp, asp, dc-asgd, ...: the slice takes a step with each push. nsoft, ksoft, eager: it
//                      gathers pushes until SyncMode::quorum is in, and takes a step with their average.
//                      ksoft-wait: pushes wait until SyncMode::wait.ready of them are in, fewer if fewer
//                      workers are connected. A pull is answered only after a step has applied its own
//                      pushes. If a worker repeats a push that waits, a step applies all that wait: workers
//                      that wait at different slices or shards could otherwise wait for each other.
//                      Steps and closing are independent: several rounds are open, and the slice's version is
//                      the first round that its parameters do not contain completely. dynsgd: the rate of a
//                      push's step is divided by staleness + 1. sync-switch: in its first rounds a slice
//                      gathers the whole round and takes one step with the average, as under bsp; then, and
//                      under elastic-bsp, a push is its part of a global batch's update.
//  hubs                mll. Like exact versions, with parameters and average for each hub: hub_rule(), below
//
// Under backup, the scheduler removes the last workers' positions from the round before it sends BeginRound
// (Rounds::OpenOldest). The slice counts them as covered (cover_holes()).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "nn/optimizer/rule.h"
#include "nn/optimizer/schedule.h"
#include "protocol/job.h"
#include "protocol/local_steps.h"
#include "protocol/messages.h"
#include "server/shard/slice_memory.h"

namespace steelyard {

// Delay compensation: DC-ASGD corrects a gradient for the steps that were taken since its parameters were
// pulled (Zheng et al., "Asynchronous stochastic gradient descent with delay compensation", ICML 2017, arXiv
// 1609.08326). With g = the mean gradient, w = the slice now, b = as this worker pulled it, all by element:
//
//   constant   g' = g + lambda * g^2 * (w - b)
//   adaptive   s' = 0.95 * s + 0.05 * g^2,  g' = g + lambda / sqrt(s' + 1e-7) * g^2 * (w - b)
//
// s is kept per worker, starts at zero, and is not in checkpoints. g' is the input of the job's update rule.
//
// For each worker and slice the shard keeps a reference to the version sent last: at most one model per
// worker. A push computed from another version, or made after the worker's connection broke, is applied
// without compensation and counted.
class DelayCompensation {
 public:
  explicit DelayCompensation(const SyncMode& mode) : kind_(mode.compensation), lambda_(mode.lambda) {}

  // The slice's current version is sent to this worker.
  void answered(NodeId worker, const SliceMemory& slice);
  void forget(NodeId worker) { pulled_.erase(worker); }
  [[nodiscard]] bool knows_nobody() const { return pulled_.empty(); }
  // weight * g' of the push. In a mode without compensation: the push as received.
  [[nodiscard]] Blob compensated(NodeId worker, const Push& push, SliceMemory& slice);
  [[nodiscard]] std::uint64_t missed() const { return missed_; }  // pushes from an unknown version

 private:
  struct Pulled {
    Blob values;
    std::uint64_t steps = 0;     // taken by the slice at that time
    std::vector<float> squares;  // s; adaptive only
  };
  Pulled* find(NodeId worker, const Push& push, const SliceMemory& slice);

  const SyncMode::Compensation kind_;
  const double lambda_;
  std::map<NodeId, std::map<std::uint64_t, Pulled>> pulled_;  // by the slice's offset
  std::uint64_t missed_ = 0;
};

class CloseRule {
 public:
  explicit CloseRule(const Job& job)
      : optimizer_(server_rule(job)),
        schedule_(job.schedule),
        samples_(job.train_samples),
        outer_rate_(job.sync.is_local() ? job.outer_rate : 1) {}
  virtual ~CloseRule() = default;
  CloseRule(const CloseRule&) = delete;
  CloseRule& operator=(const CloseRule&) = delete;

  // All slices have their initial state.
  virtual void begin(std::span<const SliceMemory>) {}
  // Whether this rule has no state beyond these slices, so that a rule created from them would equal it.
  [[nodiscard]] virtual bool is_in_slices(std::span<const SliceMemory>) const { return true; }
  // Whether a push of an open round can be added to this slice now.
  [[nodiscard]] virtual bool takes(const Push& push, const SliceMemory& slice) const = 0;
  // Adds a push; if pushes are applied on arrival, also takes the step that has become due. Returns false,
  // without a change, if any of its positions is covered already.
  virtual bool add(NodeId worker, const Push& push, const BeginRound& open, SliceMemory& slice) = 0;
  // Takes a step with the pushes gathered so far, although they are fewer than SyncMode::quorum or
  // SyncMode::wait. Called when all open rounds are covered, or the oldest is and no push arrives
  // (Shard::close_covered()), or when a worker repeats a push that waits.
  virtual void settle(const BeginRound&, SliceMemory&) {}
  // The slice's current version is sent to this worker; or the worker has disconnected.
  virtual void answered(NodeId, const SliceMemory&) {}
  virtual void gone(NodeId) {}
  // Takes the steps that waiting pushes make due. Called after gone().
  virtual void step_if_due(const BeginRound&, SliceMemory&) {}
  // Makes the next version from the oldest round, which is covered in all of these slices: a single slice, or
  // all of a norm group.
  virtual void close(std::span<SliceMemory> slices, const BeginRound& open, double scale) = 0;
  // Whether a slice may answer pulls after every push, not only when it has closed.
  [[nodiscard]] virtual bool answers_each_push() const { return false; }
  // Whether all workers that a waiting push can wait for satisfy the condition; false if pushes never wait.
  [[nodiscard]] virtual bool all_workers(const std::function<bool(NodeId)>&) const { return false; }
  // Whether the slice has the version requested, and if not, whether it will.
  [[nodiscard]] virtual bool has(const Pull& pull, const SliceMemory& slice) const {
    return slice.version() == pull.version;
  }
  [[nodiscard]] virtual bool will_have(const Pull& pull, const SliceMemory& slice) const {
    return slice.version() < pull.version;
  }
  // The values that answer a pull: of the current version or, if not `current`, of the preceding one, which
  // the slice must have.
  [[nodiscard]] virtual Blob told(const Pull&, const SliceMemory& slice, bool current) const {
    return current ? slice.current() : *slice.previous();
  }
  // Lateness of pushes.
  [[nodiscard]] virtual Staleness staleness() const { return {}; }
  // Pushes that could not be compensated.
  [[nodiscard]] virtual std::uint64_t uncompensated() const { return 0; }

 protected:
  [[nodiscard]] double rate(const BeginRound& open) const {
    return outer_rate_ * round_rate(schedule_, samples_, open.epoch, open.positions, open.local);
  }
  const nn::Optimizer optimizer_;  // makes each step

 private:
  const nn::Schedule schedule_;
  const std::uint64_t samples_;
  const double outer_rate_;
};

std::unique_ptr<CloseRule> close_rule(const Job& job);

// The close rule of modes with hubs (protocol/sync_mode.h): MLL-SGD (Castiglia, Das, Patterson, ICLR 2021,
// section 3).
//
// Each slice has a copy w(h) for every hub h; w, the slice's values, is the average of the copies. A push is
// added to the copy of its piece's hub. Let n(h) be the sum of the weights of the pushes added to h since the
// hubs mixed last, and N(h) = h and its neighbours. When the round is covered:
//
//   w(h) = w(h) - rate * sum / weight                          where something was pushed to h
//   w(h) = sum over j in N(h) of n(j) w(j) / sum of n(j)       in every Q-th round, for all h at once
//   w    = sum over h of n(h) w(h) / sum of n(h)               the slice's next version
//
// A hub without workers changes only when the hubs mix. All copies begin with the loaded state, so a resumed
// job begins with equal hubs. All copies share the slice's ledger: a position counts once, whichever hub it
// is pushed to.
std::unique_ptr<CloseRule> hub_rule(const Job& job);

}  // namespace steelyard
