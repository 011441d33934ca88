// CloseRule: how pushes become the next version of a slice, and which pulls it can answer. What a sync mode
// changes in a shard is here and nowhere else. Whether a round is covered is the same in all modes:
// Shard::close_covered compares the ledger of the slice with BeginRound::quorum, and then calls close().
//
//  exact versions      Pushes are summed. When the round is covered, the average takes one step and the slice
//                      has the next version.
//  applied on arrival  Rounds are open beside each other. Each push is a step of its own as it comes, or is
//                      gathered until as many positions as the mode needs are in; then their average takes
//                      one step. The version of a slice is the first round of which something is missing in
//                      the parameters.
//  hubs                as exact versions, in each of several averages: hub_rule(), below
#pragma once

#include <cstdint>
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

// Delay compensation: what DC-ASGD adds to a gradient that was computed from parameters which moved since
// (Zheng et al., "Asynchronous stochastic gradient descent with delay compensation", ICML 2017, arXiv
// 1609.08326). With g = the mean gradient, w = the slice now, b = as this worker pulled it, all by element:
//
//   constant   g' = g + lambda * g^2 * (w - b)
//   adaptive   s' = 0.95 * s + 0.05 * g^2,  g' = g + lambda / sqrt(s' + 1e-7) * g^2 * (w - b)
//
// s is kept for each worker, from zero on, and not in checkpoints. g' goes into the job's update rule.
//
// For that it keeps, for each worker and slice, the version that was sent last, by reference: a model for
// each worker at the most. A push that was computed from another version stays as it is, and so does one
// after a worker's connection broke; both are counted.
class DelayCompensation {
 public:
  explicit DelayCompensation(const SyncMode& mode) : kind_(mode.compensation), lambda_(mode.lambda) {}

  // The slice is sent to this worker as it is now.
  void answered(NodeId worker, const SliceMemory& slice);
  void forget(NodeId worker) { pulled_.erase(worker); }
  [[nodiscard]] bool knows_nobody() const { return pulled_.empty(); }
  // What the push is with the compensation: weight * g'. Of a mode without one: as it came.
  [[nodiscard]] Blob compensated(NodeId worker, const Push& push, SliceMemory& slice);
  [[nodiscard]] std::uint64_t missed() const { return missed_; }  // pushes of which the version was not known

 private:
  struct Pulled {
    Blob values;
    std::uint64_t steps = 0;     // that the slice had made
    std::vector<float> squares;  // s; adaptive only
  };
  Pulled* find(NodeId worker, const Push& push, const SliceMemory& slice);

  const SyncMode::Compensation kind_;
  const double lambda_;
  std::map<NodeId, std::map<std::uint64_t, Pulled>> pulled_;  // by the slice's place
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

  // All slices have their first state.
  virtual void begin(std::span<const SliceMemory>) {}
  // Whether a rule that begins with these slices, between two rounds, is the same as this one.
  [[nodiscard]] virtual bool is_in_slices(std::span<const SliceMemory>) const { return true; }
  // Whether a push of an open round fits this slice now.
  [[nodiscard]] virtual bool takes(const Push& push, const SliceMemory& slice) const = 0;
  // Adds it. False if any of its positions is covered already: nothing changes.
  virtual bool add(NodeId worker, const Push& push, const BeginRound& open, SliceMemory& slice) = 0;
  // All that has been opened is in: whatever is gathered will do for a step.
  virtual void settle(const BeginRound&, SliceMemory&) const {}
  // This worker is sent the slice as it is now; this one is gone.
  virtual void answered(NodeId, const SliceMemory&) {}
  virtual void gone(NodeId) {}
  // The oldest round, which is covered in all of these slices: makes the next version. They are one, or all
  // of a norm group.
  virtual void close(std::span<SliceMemory> slices, const BeginRound& open, double scale) = 0;
  // Whether a slice may answer pulls after every push, not only when it has closed.
  [[nodiscard]] virtual bool answers_each_push() const { return false; }
  // Whether the slice has what is asked for, and if not, whether it will.
  [[nodiscard]] virtual bool has(const Pull& pull, const SliceMemory& slice) const {
    return slice.version() == pull.version;
  }
  [[nodiscard]] virtual bool will_have(const Pull& pull, const SliceMemory& slice) const {
    return slice.version() < pull.version;
  }
  // What answers it: `current`, or the version before, which the slice has then.
  [[nodiscard]] virtual Blob told(const Pull&, const SliceMemory& slice, bool current) const {
    return current ? slice.current() : *slice.previous();
  }
  // How late pushes came.
  [[nodiscard]] virtual Staleness staleness() const { return {}; }
  // Pushes that were to be compensated and could not be.
  [[nodiscard]] virtual std::uint64_t uncompensated() const { return 0; }

 protected:
  [[nodiscard]] double rate(const BeginRound& open) const {
    return outer_rate_ * round_rate(schedule_, samples_, open.epoch, open.positions, open.local);
  }
  const nn::Optimizer optimizer_;  // what a version is stepped by

 private:
  const nn::Schedule schedule_;
  const std::uint64_t samples_;
  const double outer_rate_;
};

std::unique_ptr<CloseRule> close_rule(const Job& job);

// The close rule of modes with hubs (protocol/local_steps.h): MLL-SGD (Castiglia, Das, Patterson, ICLR 2021,
// section 3).
//
// Each slice has a copy for every hub, h, beside its own, which is the average of them. A push goes to the
// copy of its piece's hub. When the round is covered, with n(h) = the weights of the pushes that have come
// to h since the hubs mixed last, and N(h) = h and its neighbours:
//
//   w(h) = w(h) - rate * sum / weight                          where something was pushed to h
//   w(h) = sum over j in N(h) of n(j) w(j) / sum of n(j)       in every Q-th round, from the w of all
//   w    = sum over h of n(h) w(h) / sum of n(h)               the slice's next version
//
// A hub that had no workers stands still until the others reach it by mixing. All copies begin with what was
// loaded, so a job that is resumed begins with hubs that are alike. The ledger is the slice's: a position
// counts once, whichever hub it is pushed to.
std::unique_ptr<CloseRule> hub_rule(const Job& job);

}  // namespace steelyard
