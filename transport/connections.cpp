#include "transport/connections.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <utility>
#include <vector>

#include "core/check.h"

namespace steelyard {

HeldEnd::HeldEnd(int descriptor) : descriptor_(fcntl(descriptor, F_DUPFD_CLOEXEC, 0)) {}

bool HeldEnd::closed_there() const {
  if (!descriptor_.there()) return true;
  pollfd asked{descriptor_.get(), POLLRDHUP, 0};
  return poll(&asked, 1, 0) > 0;
}

namespace {

constexpr std::size_t capacity = 1 << 16;

constexpr Duration between_looks = std::chrono::milliseconds(100), in_a_hurry = std::chrono::milliseconds(5);
constexpr Duration longest_idle = std::chrono::seconds(1);
constexpr std::uint64_t much = 64 << 10;  // bytes since the last message: check this connection sooner
// Lengths, encryption overhead, libzmq's heartbeats, and data that the kernel has not delivered yet.
constexpr std::uint64_t besides_a_message = 256 << 10;
constexpr std::uint64_t longest_handshake = 4096;  // bytes; one of CURVE has some 600
constexpr std::uint64_t added_by_curve = 33;       // bytes to each frame
// A listener's bytes before its last message of a CURVE handshake: a greeting of 64 and WELCOME of 170.
constexpr std::uint64_t sent_within_handshake = 64 + 170;

std::uint64_t cookie_of(int descriptor) {
  std::uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

struct Counted {
  std::uint64_t received = 0;
  std::uint64_t confirmed = 0;  // of the bytes sent, those that the other side has acknowledged
  Duration idle{};
};
Counted count(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof info;
  if (getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) return {};
  return {info.tcpi_bytes_received, info.tcpi_bytes_acked,
          std::chrono::milliseconds(info.tcpi_last_data_recv)};
}

std::uint64_t left_in_kernel(int descriptor) {
  int bytes = 0;
  return ioctl(descriptor, SIOCINQ, &bytes) == 0 && bytes > 0 ? static_cast<std::uint64_t>(bytes) : 0;
}

}  // namespace

Mailbox::Mailbox() : wake_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)), posted_(capacity) {
  CHECK(wake_.there(), "no descriptor left for an eventfd");
}

void Mailbox::post(std::vector<Envelope> envelopes) {
  for (Envelope& envelope : envelopes) posted_.try_push(std::move(envelope));
  const std::uint64_t one = 1;
  (void)!write(wake_.get(), &one, sizeof one);  // fails only if the eventfd is already signalled
}

void Mailbox::take_posted() {
  std::uint64_t count = 0;
  (void)!read(wake_.get(), &count, sizeof count);
  while (auto envelope = posted_.pop(Time{})) inbox_.push_back(std::move(*envelope));
}

void Mailbox::drop_from(NodeId sender) {
  std::erase_if(inbox_, [&](const Envelope& it) { return it.from == sender; });
}

Envelope Mailbox::next() {
  Envelope envelope = std::move(inbox_.front());
  inbox_.pop_front();
  return envelope;
}

void Connections::take(const std::vector<SocketEvent>& events, Time now) {
  for (const SocketEvent& event : events) {
    if (event.kind == ZMQ_EVENT_ACCEPTED) accepted(event.descriptor, now);
    if (event.kind == ZMQ_EVENT_DISCONNECTED) ended(event.descriptor);
  }
}

void Connections::accepted(int descriptor, Time now) {
  ended(descriptor);
  Connection& it = connections_[descriptor];
  it.cookie = cookie_of(descriptor);
  it.number = ++accepted_;
  ++at_door_;
  const auto early = early_.extract(descriptor);
  if (!early.empty() && early.mapped() == it.cookie) {
    received_from(descriptor);
    it.read = count(descriptor).received;
  }
  next_look_ = std::min(next_look_, now + (at_door_ > most_at_door ? in_a_hurry : between_looks));
}

void Connections::enters(Connection& it) {
  if (std::exchange(it.at_door, false)) --at_door_;
}

// A message may be read before its connection is announced. The kernel's cookie identifies its connection.
void Connections::received_from(int descriptor, std::initializer_list<std::size_t> frames) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) {
    if (descriptor >= 0) early_[descriptor] = cookie_of(descriptor);
    return;
  }
  enters(found->second);
  found->second.sent = true;
  for (const std::size_t bytes : frames) {
    const std::size_t encrypted = bytes + (keyed_ ? added_by_curve : 0);
    found->second.read += encrypted + (encrypted > 255 ? 9 : 2);
  }
}

void Connections::ended(int descriptor) {
  const auto found = connections_.find(descriptor);
  if (found == connections_.end()) return;
  enters(found->second);
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
  std::vector<Entry*> suspects;
  bool hurry = false, piled_up = false;
  for (Entry& entry : connections_) {
    if (entry.second.condemned) {
      close(entry);
    } else if (measure(entry)) {
      suspects.push_back(&entry);
    }
    hurry |= entry.second.received - entry.second.before > much;
    piled_up |= piles_up(entry.second, much);
  }
  hurry |= piled_up;
  next_look_ = now + (hurry || at_door_ > most_at_door ? in_a_hurry : between_looks);
  if (suspects.empty() && !piled_up && at_door_ <= most_at_door) return;
  const bool all_read = read();
  for (Entry& entry : connections_) {
    if (all_read) entry.second.read = std::max(entry.second.read, entry.second.received);
    if (piles_up(entry.second, largest_ + besides_a_message)) close(entry);
  }
  if (!all_read) return;
  for (const Entry* suspect : suspects) {
    if (!suspect->second.sent) close(*suspect);
  }
  clear_door();
}

bool Connections::measure(Entry& entry) {
  auto& [descriptor, it] = entry;
  const Counted counted = count(descriptor);
  it.received = std::max(it.received, counted.received);
  it.idle = counted.idle;
  if (std::exchange(it.sent, false)) it.before = it.received;
  // Without keys every peer is accepted, and a long first message is valid.
  if (keyed_ ? counted.confirmed > sent_within_handshake + 16 : it.received > longest_handshake) enters(it);
  return (it.at_door && it.received > longest_handshake) ||
         it.received - it.before > largest_ + besides_a_message + left_in_kernel(descriptor);
}

// A connection closed here is no longer pending (`at_door`), although their end is announced later.
void Connections::clear_door() {
  if (at_door_ <= most_at_door) return;
  std::vector<Entry*> there;
  for (Entry& entry : connections_) {
    if (entry.second.at_door) there.push_back(&entry);
  }
  std::ranges::sort(there, {}, [](const Entry* entry) { return entry->second.number; });
  for (Entry* entry : there) {
    if (at_door_ <= most_at_door) return;
    const bool gets_on = entry->second.idle < longest_idle || left_in_kernel(entry->first) > 0;
    if (gets_on && at_door_ <= most_at_door_ever) continue;
    close(*entry);
    enters(entry->second);
  }
}

void Connections::close(const Entry& entry) {
  const auto& [descriptor, it] = entry;
  if (it.cookie != 0 && cookie_of(descriptor) == it.cookie) shutdown(descriptor, SHUT_RDWR);
}

}  // namespace steelyard
