// CloseRule: how pushes become the next version of a slice, and which pulls it can answer. What a sync mode
// changes in a shard is here and nowhere else.
//
//  exact versions      Pushes are summed. When the round is covered, the average takes one step and the slice
//                      has the next version.
//  applied on arrival  Rounds are open beside each other. Each push is a step of its own as it comes, or is
//                      gathered until as many positions as the mode needs are in; then their average takes
//                      one step. The version of a slice is the first round of which something is missing in
//                      the parameters.
//  hubs                as exact versions, in each of several averages: server/shard/hub_rule.h
#pragma once

#include <memory>

#include "nn/optimizer/rule.h"
#include "nn/optimizer/schedule.h"
#include "server/shard/slice_memory.h"
#include "protocol/job.h"
#include "protocol/local_steps.h"
#include "protocol/messages.h"

namespace steelyard {

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
  virtual bool add(NodeId worker, const Push& push, const Open& open, SliceMemory& slice) = 0;
  // All that has been opened is in: whatever is gathered will do for a step.
  virtual void settle(const Open& newest, SliceMemory& slice) const = 0;
  // This worker is sent the slice as it is now; this one is gone.
  virtual void answered(NodeId, const SliceMemory&) {}
  virtual void gone(NodeId) {}
  // The oldest round, which is covered in all of these slices: makes the next version. They are one, or all
  // of a norm group.
  virtual void close(std::span<SliceMemory> slices, const Open& open, double scale) = 0;
  // Whether a slice may answer pulls after every push, not only when it has closed.
  [[nodiscard]] virtual bool answers_each_push() const = 0;
  // Whether the slice has what is asked for, and if not, whether it will.
  [[nodiscard]] virtual bool has(const Pull& pull, const SliceMemory& slice) const = 0;
  [[nodiscard]] virtual bool will_have(const Pull& pull, const SliceMemory& slice) const = 0;
  // What answers it: `current`, or the version before, which the slice has then.
  [[nodiscard]] virtual Blob told(const Pull&, const SliceMemory& slice, bool current) const {
    return current ? slice.current() : *slice.previous();
  }
  // How late pushes came.
  [[nodiscard]] virtual Staleness staleness() const { return {}; }
  // Pushes that were to be compensated and could not be.
  [[nodiscard]] virtual std::uint64_t uncompensated() const { return 0; }

 protected:
  [[nodiscard]] double rate(const Open& open) const {
    return outer_rate_ * round_rate(schedule_, samples_, open.epoch, open.positions, open.local);
  }
  const nn::Optimizer optimizer_;  // what a version is stepped by

 private:
  const nn::Schedule schedule_;
  const std::uint64_t samples_;
  const double outer_rate_;
};

std::unique_ptr<CloseRule> close_rule(const Job& job);

}  // namespace steelyard
