#include "transport/nudges.h"

#include <algorithm>
#include <array>
#include <utility>

namespace steelyard {
namespace {

constexpr std::array nudge{std::byte{'S'}, std::byte{'N'}};

}  // namespace

void Nudges::through(NodeId peer, int descriptor) {
  Line& line = lines_[peer];
  if (line.descriptor == descriptor) return;
  line = {};
  line.descriptor = descriptor;
}

void Nudges::sent(NodeId peer, Time now) {
  const auto line = lines_.find(peer);
  if (line == lines_.end() || line->second.descriptor < 0) return;
  line->second.in_a_row = 0;
  line->second.look_at = now + line->second.pause;
  next_ = std::min(next_, line->second.look_at);
}

std::vector<NodeId> Nudges::due(Time now) {
  std::vector<NodeId> peers;
  if (now < next_) return peers;
  next_ = Time::max();
  for (auto& [peer, line] : lines_) {
    if (line.look_at <= now && overdue(line, now)) peers.push_back(peer);
    next_ = std::min(next_, line.look_at);
  }
  return peers;
}

// Looks, and says when to look again.
bool Nudges::overdue(Line& line, Time now) {
  line.look_at = Time::max();
  const std::optional<Flight> flight = look_(line.descriptor);
  if (!flight) {
    line.descriptor = -1;  // no TCP, or gone
    return false;
  }
  learn(line, *flight);
  if (!flight->unconfirmed || line.in_a_row == most_in_a_row) return false;
  line.look_at = now + line.pause * (1 << line.in_a_row);
  ++line.in_a_row;
  return !flight->unsent;  // a nudge would wait behind it
}

void Nudges::learn(Line& line, const Flight& flight) {
  const Duration shortest = std::max(least, flight.round_trip / 4);
  if (flight.repeated > line.repeated) {
    line.pause = shortest;
    if (!std::exchange(line.lossy, true)) lossy_(line.descriptor, flight);
  } else {
    line.pause = std::clamp(line.pause + line.pause / 32, shortest, patient + 2 * flight.round_trip);
  }
  line.repeated = flight.repeated;
}

Frames nudge_frame() { return {{nudge.begin(), nudge.end()}, std::nullopt}; }

bool is_nudge(std::span<const std::byte> frame) { return std::ranges::equal(frame, nudge); }

}  // namespace steelyard
