#include "balancing/policy/steelyard/waits.h"

#include <algorithm>

namespace steelyard::balancing {

void Waits::observe(const Request& request, const LastRound& round, const std::vector<Affine>& curves,
                    const std::vector<double>& link_seconds) {
  double last = 0, second = 0, per_second = 0;
  bool waits = true;  // a worker that does not tell what it waited may not wait at all
  std::vector<const LastRound::Work*> works;
  std::size_t last_worker = 0, count = 0;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const LastRound::Work* work = works.emplace_back(round.find(request.workers[i].slot));
    if (work == nullptr) continue;
    waits = waits && work->exchange >= 0;
    const double seconds = work->seconds + link_seconds[i];
    second = std::max(second, std::min(last, seconds));
    if (seconds > last) last = seconds, last_worker = i;
    per_second += 1 / curves[i].per_sample;
    ++count;
  }
  if (count < 2) return;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    if (works[i] == nullptr) continue;
    const double others = per_second - 1 / curves[i].per_sample;
    const double worth = static_cast<double>(works[i]->samples) / others;
    waited_[request.workers[i].slot].observe(waits && i == last_worker ? last - second : 0, worth);
  }
}

void Waits::forget_all_but(const std::set<std::uint32_t>& present) {
  std::erase_if(waited_, [&](const auto& entry) { return !present.contains(entry.first); });
}

double Waits::surely(std::uint32_t slot) const {
  const auto found = waited_.find(slot);
  return found == waited_.end() ? 0 : found->second.surely();
}

double Waits::worth(std::uint32_t slot) const {
  const auto found = waited_.find(slot);
  return found == waited_.end() ? 0 : found->second.worth();
}

void Waits::save(StateWriter& writer) const {
  writer.count(waited_.size());
  for (const auto& [slot, waited] : waited_) {
    writer.count(slot);
    waited.save(writer);
  }
}

void Waits::restore(StateReader& reader) {
  waited_.clear();
  for (std::uint64_t left = reader.count(most_workers); left > 0; --left) {
    waited_[static_cast<std::uint32_t>(reader.count(UINT32_MAX))].restore(reader);
  }
}

}  // namespace steelyard::balancing
