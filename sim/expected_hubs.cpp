#include "sim/expected_hubs.h"

#include <utility>

namespace steelyard::sim {

ExpectedHubs::ExpectedHubs(const Hubs& hubs) : hubs_(hubs) {
  for (HubNumber hub = 1; hub <= hubs.count; ++hub) state_[hub];
}

void ExpectedHubs::computed(const Piece& piece) {
  if (piece.round >= averages_.size()) pieces_[piece.round][piece.hub].add(piece.positions);
}

std::string ExpectedHubs::close(Interval positions, const std::function<double(Interval)>& gradient) {
  const Round round = averages_.size();
  const std::map<HubNumber, IntervalSet> pieces = std::exchange(pieces_[round], {});
  pieces_.erase(round);
  std::uint64_t count = 0;
  for (const auto& [number, its] : pieces) {
    const auto hub = state_.find(number);
    if (hub == state_.end()) return "a piece is of hub " + std::to_string(number) + ", which there is not";
    double sum = 0;
    for (const Interval& part : its.intervals()) sum += gradient(part);
    const auto size = static_cast<double>(its.count());
    hub->second.value -= sum / size;
    hub->second.positions += size;
    count += its.count();
  }
  if (count != positions.size()) return "a position is of no hub, or of two";
  const bool mixes = hubs_.mix_after(round);
  if (mixes) mix();
  std::vector<HubNumber> all;
  for (const auto& [number, hub] : state_) all.push_back(number);
  averages_.push_back(mean(all));
  if (mixes)
    for (auto& [number, hub] : state_) hub.positions = 0;
  return {};
}

ExpectedHubs::Average ExpectedHubs::mean(const std::vector<HubNumber>& of) const {
  double sum = 0, positions = 0;
  for (const HubNumber hub : of) {
    sum += state_.at(hub).positions * state_.at(hub).value;
    positions += state_.at(hub).positions;
  }
  return positions > 0 ? Average{sum / positions, positions} : Average{state_.at(of.front()).value, 0};
}

// All at once: of what each has before any of them changes.
void ExpectedHubs::mix() {
  std::map<HubNumber, double> mixed;
  for (const auto& [a, hub] : state_) {
    std::vector<HubNumber> near{a};
    for (const auto& [b, other] : state_) {
      if (hubs_.are_neighbours(a, b)) near.push_back(b);
    }
    mixed[a] = mean(near).value;
  }
  for (auto& [number, hub] : state_) hub.value = mixed[number];
}

}  // namespace steelyard::sim
