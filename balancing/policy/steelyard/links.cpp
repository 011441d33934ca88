#include "balancing/policy/steelyard/links.h"

#include <algorithm>
#include <cmath>

namespace steelyard::balancing {

void Links::observe(const LastRound& round, const std::set<std::uint32_t>& after_rest) {
  if (!rules_.links) return;
  double quickest = INFINITY;
  for (const auto& [slot, work] : round.work()) {
    if (work.exchange < 0) return;  // a worker that does not tell it may not wait at all
    quickest = std::min(quickest, work.exchange);
  }
  for (const auto& [slot, work] : round.work()) {
    ExchangeCost& link = links_.try_emplace(slot, rules_.link_changes).first->second;
    link.observe(work.exchange - quickest, after_rest.contains(slot));
  }
}

void Links::forget_all_but(const std::set<std::uint32_t>& present) {
  std::erase_if(links_, [&](const auto& entry) { return !present.contains(entry.first); });
}

double Links::seconds(std::uint32_t slot) const {
  const auto link = links_.find(slot);
  return link == links_.end() ? 0 : 2 * link->second.surely();
}

bool Links::changed(std::uint32_t slot) const {
  const auto link = links_.find(slot);
  return link != links_.end() && link->second.changed();
}

void Links::save(StateWriter& writer) const {
  writer.count(links_.size());
  for (const auto& [slot, link] : links_) {
    writer.count(slot);
    link.save(writer);
  }
}

void Links::restore(StateReader& reader) {
  links_.clear();
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    const auto slot = static_cast<std::uint32_t>(reader.count(UINT32_MAX));
    links_.try_emplace(slot, rules_.link_changes).first->second.restore(reader);
  }
}

}  // namespace steelyard::balancing
