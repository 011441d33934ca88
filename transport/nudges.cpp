#include "transport/nudges.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace steelyard {
namespace {

// TCP_RTO_MIN_US, missing in Debian's headers: the timer exceeds the round trip by this many microseconds.
constexpr int timer_margin = 45;
constexpr Duration least_margin = std::chrono::milliseconds(8), usual_margin = std::chrono::milliseconds(200);
constexpr int least_of_slow_kernels = 20'000;  // for kernels with a 100 Hz clock

constexpr std::uint32_t unmeasured = ~std::uint32_t{0};

bool set(int descriptor, int option, int value) {
  return setsockopt(descriptor, IPPROTO_TCP, option, &value, sizeof value) == 0;
}

constexpr std::array nudge{std::byte{'S'}, std::byte{'N'}};

}  // namespace

std::optional<Flight> flight_of(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return std::nullopt;
  // All of these fields exist since Linux 4.6.
  if (size < offsetof(tcp_info, tcpi_min_rtt) + sizeof info.tcpi_min_rtt) return std::nullopt;
  const auto round_trip = info.tcpi_min_rtt == unmeasured ? 0 : info.tcpi_min_rtt;
  return Flight{info.tcpi_unacked > 0, info.tcpi_notsent_bytes > 0, std::chrono::microseconds(round_trip),
                info.tcpi_total_retrans};
}

void expect_losses(int descriptor, const Flight& flight) {
  set(descriptor, TCP_THIN_LINEAR_TIMEOUTS, 1);
  const Duration margin = std::clamp(flight.round_trip / 4, least_margin, usual_margin);
  if (!set(descriptor, timer_margin, static_cast<int>(margin / std::chrono::microseconds(1))))
    set(descriptor, timer_margin, least_of_slow_kernels);
  (void)setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, "bbr", 3);
}

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

// Checks the connection and sets the time of the next check.
bool Nudges::overdue(Line& line, Time now) {
  line.look_at = Time::max();
  const std::optional<Flight> flight = look_(line.descriptor);
  if (!flight) {
    line.descriptor = -1;  // not TCP, or closed
    return false;
  }
  learn(line, *flight);
  if (!flight->unconfirmed || line.in_a_row == most_in_a_row) return false;
  line.look_at = now + line.pause * (1 << line.in_a_row);
  ++line.in_a_row;
  return !flight->unsent;  // a nudge would queue behind the unsent bytes
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
