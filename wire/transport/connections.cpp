#include "wire/transport/connections.h"

#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace steelyard {
namespace {

constexpr Duration between_looks = std::chrono::milliseconds(100), in_a_hurry = std::chrono::milliseconds(5);
constexpr Duration shortest_handshake = std::chrono::milliseconds(100);
constexpr Duration longest_handshake = std::chrono::seconds(1);
constexpr int round_trips = 8;
constexpr std::uint64_t much = 64 << 10;  // bytes since the last message: worth a closer look
// Lengths, what encryption adds, heartbeats of libzmq, and what the kernel has not handed over.
constexpr std::uint64_t besides_a_message = 256 << 10;

std::uint64_t cookie_of(int descriptor) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

struct Counted {
  std::uint64_t received = 0;
  Duration round_trip{};
};
Counted count(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {info.tcpi_bytes_received, std::chrono::microseconds(info.tcpi_rtt)};
}

std::uint64_t left_in_kernel(int descriptor) {
  int bytes = 0;
  return ioctl(descriptor, SIOCINQ, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace

void Connections::hear(const std::vector<SocketEvent>& events, Time now) {
  for (const SocketEvent& event : events) {
    if (event.kind == ZMQ_EVENT_ACCEPTED) accepted(event.descriptor, now);
    if (event.kind == ZMQ_EVENT_DISCONNECTED) ended(event.descriptor);
  }
}

void Connections::accepted(int descriptor, Time now) {
  ended(descriptor);
  Connection& it = connections_[descriptor];
  it.cookie = cookie_of(descriptor);
  it.since = now;
  ++silent_;
  next_look_ = std::min(next_look_, now + (silent_ > most_silent ? in_a_hurry : between_looks));
}

void Connections::spoke(int descriptor) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  if (std::exchange(found->second.silent, false)) --silent_;
  found->second.spoke = true;
}

void Connections::ended(int descriptor) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  if (found->second.silent) --silent_;
  connections_.erase(found);
  if (connections_.empty()) next_look_ = Time::max();
}

void Connections::condemn(int descriptor, Time now) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  found->second.condemned = true;
  next_look_ = std::min(next_look_, now + in_a_hurry);
}

void Connections::look(Time now, const std::function<bool()>& read) {
  bool hurry = silent_ > most_silent;
  std::vector<Entry*> suspects;
  for (Entry& entry : connections_) {
    if (measure(entry)) suspects.push_back(&entry);
    hurry |= entry.second.received - entry.second.before > much;
  }
  next_look_ = now + (hurry ? in_a_hurry : between_looks);
  if (suspects.empty() && silent_ <= most_silent) return;
  if (!read()) return;
  for (const Entry* suspect : suspects) {
    if (suspect->second.condemned || !suspect->second.spoke) close(*suspect);
  }
  judge_silent(now);
}

bool Connections::measure(Entry& entry) const {
  auto& [descriptor, it] = entry;
  const Counted counted = count(descriptor);
  it.received = std::max(it.received, counted.received);
  it.handshake = std::clamp(round_trips * counted.round_trip, shortest_handshake, longest_handshake);
  if (std::exchange(it.spoke, false)) it.before = it.received;
  return it.condemned || it.received - it.before > largest_ + besides_a_message + left_in_kernel(descriptor);
}

// The oldest first. They are told to be gone by the event that follows, and count until then no more.
void Connections::judge_silent(Time now) {
  if (silent_ <= most_silent) return;
  std::vector<Entry*> silent;
  for (Entry& entry : connections_) {
    if (entry.second.silent) silent.push_back(&entry);
  }
  std::ranges::sort(silent, {}, [](const Entry* entry) { return entry->second.since; });
  std::size_t left = silent.size();
  for (Entry* entry : silent) {
    if (left <= most_silent) return;
    if (left <= most_silent_of_any_age && now - entry->second.since < entry->second.handshake) continue;
    close(*entry);
    entry->second.silent = false;
    --silent_;
    --left;
  }
}

void Connections::close(const Entry& entry) {
  const auto& [descriptor, it] = entry;
  if (it.cookie != 0 && cookie_of(descriptor) == it.cookie) shutdown(descriptor, SHUT_RDWR);
}

}  // namespace steelyard
