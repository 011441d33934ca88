#include "sim/invariants_watch.h"

#include "sim/faults.h"

namespace steelyard::sim {

void InvariantsWatch::stepped(const Hosted& node, const Envelope* in) {
  if (when_ == When::never || node.id != scheduler_node) return;
  const Scheduler& scheduler = find_(node);
  bool look = when_ == When::steps || in == nullptr || says<ToScheduler, Disconnected, Ready>(in->message);
  const std::list<RoundState>& rounds = scheduler.rounds();
  if (!rounds.empty() && rounds.back().round() >= next_round_) {
    look = true;
    next_round_ = rounds.back().round() + 1;
  }
  if (!look) return;
  if (const std::string trouble = invariants_.check(scheduler); !trouble.empty())
    complain_("an invariant is broken: " + trouble);
}

}  // namespace steelyard::sim
