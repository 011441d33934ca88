// What a shard does where pushes are applied as they come.
#include <algorithm>

#include "server/shard.h"

namespace steelyard {

// Weight decay belongs to an update, so a push that is only a part of one has its part of the decay.
void Shard::apply_at_once(const Push& push, SliceMemory& slice, const Open& open, Outbox& out) {
  if (!slice.cover(push.round, push.positions)) {
    ++counts_.repeated;
    return;
  }
  ++counts_.added;
  count_staleness(slice, push);
  const double whole = mode_.divide_by_push ? push.weight : static_cast<double>(open.positions.size());
  nn::Optimizer rule = rule_;
  rule.weight_decay *= push.weight / whole;
  slice.apply_now(rule, push.values, rate(open), 1 / whole);
  for (auto oldest = open_.find(slice.version());
       oldest != open_.end() && slice.coverage().count() >= oldest->second.need;
       oldest = open_.find(slice.version())) {
    const Open done = oldest->second;  // closed() erases it when the last slice is done
    slice.next_version();
    closed(slice, done, out);
  }
  answer_waiting(slice, out);
}

void Shard::count_staleness(const SliceMemory& slice, const Push& push) {
  staleness_.resize(staleness_places);
  const std::uint64_t late = slice.steps() - std::min(push.steps, slice.steps());
  ++staleness_[std::min<std::uint64_t>(late, staleness_places - 1)];
}

}  // namespace steelyard
