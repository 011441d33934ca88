// CloseRule: how pushes become the next version of a slice, and which pulls it can answer. What a sync mode
// changes in a shard is here and nowhere else.
//
//  exact versions      Pushes are summed. When the round is covered, the average takes one step and the slice
//                      has the next version.
//  applied on arrival  Each push is a step of its own as it comes, and rounds are open beside each other. The
//                      version of a slice is the first round of which something is missing.
#pragma once

#include <memory>

#include "nn/optimizer/rule.h"
#include "server/slice_memory.h"
#include "wire/messages.h"
#include "wire/sync_mode.h"

namespace steelyard {

class CloseRule {
 public:
  virtual ~CloseRule() = default;

  // Whether a push of an open round fits this slice now.
  [[nodiscard]] virtual bool takes(const Push& push, const SliceMemory& slice) const = 0;
  // Adds it, at this learning rate. False if any of its positions is covered already: nothing changes.
  virtual bool add(const Push& push, const Open& open, double rate, SliceMemory& slice) = 0;
  // The slice's oldest round is covered: makes the next version.
  virtual void close(SliceMemory& slice, double rate, double scale) const = 0;
  // Whether a slice may answer pulls after every push, not only when it has closed.
  [[nodiscard]] virtual bool answers_each_push() const = 0;
  // Whether the slice has what is asked for, and if not, whether it will.
  [[nodiscard]] virtual bool has(const Pull& pull, const SliceMemory& slice) const = 0;
  [[nodiscard]] virtual bool will_have(const Pull& pull, const SliceMemory& slice) const = 0;
  // Whether a version has optimizer state of its own, besides the parameters.
  [[nodiscard]] virtual bool changes_state() const = 0;
  // How late pushes came.
  [[nodiscard]] virtual Staleness staleness() const { return {}; }
};

std::unique_ptr<CloseRule> close_rule(const SyncMode& mode, const nn::Optimizer& optimizer);

}  // namespace steelyard
