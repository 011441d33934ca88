#include "app/hosts/line_speed.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/time.h"

namespace steelyard {
namespace {

constexpr int patience_s = 5;
constexpr std::uint64_t first_bytes = 64 << 10, most_bytes = 64 << 20;  // of one transfer
constexpr double long_enough_s = 0.1;                                   // a transfer that can be trusted
constexpr int round_trips = 5;

// What a client asks for: one byte back; to take bytes, then one byte back; to send bytes.
enum class Ask : char { byte = 'b', take = 't', send = 's' };
struct Order {
  char ask = 0;
  std::array<unsigned char, 8> size{};  // little endian
};
static_assert(sizeof(Order) == 9);

struct Addresses {
  explicit Addresses(const HostPort& place, bool listens) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICSERV | (listens ? AI_PASSIVE : 0);
    error = getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &first);
  }
  ~Addresses() {
    if (error == 0) freeaddrinfo(first);
  }
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;

  addrinfo* first = nullptr;
  int error = 0;
};

void set_limits(int socket) {
  const timeval limit{patience_s, 0};
  const int yes = 1;
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // also limits connect()
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

bool send_all(int socket, const void* data, std::uint64_t size) {
  const char* bytes = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t sent = ::send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<std::uint64_t>(sent);
  }
  return true;
}

bool receive_all(int socket, void* data, std::uint64_t size) {
  return size == 0 || ::recv(socket, data, size, MSG_WAITALL) == static_cast<ssize_t>(size);
}

// Bytes whose values do not matter.
bool send_many(int socket, std::uint64_t size) {
  static const std::vector<char> block(1 << 20);
  for (; size > 0; size -= std::min<std::uint64_t>(size, block.size()))
    if (!send_all(socket, block.data(), std::min<std::uint64_t>(size, block.size()))) return false;
  return true;
}
bool receive_many(int socket, std::uint64_t size) {
  std::vector<char> block(1 << 20);
  while (size > 0) {
    const ssize_t got = ::recv(socket, block.data(), std::min<std::uint64_t>(size, block.size()), 0);
    if (got <= 0) return false;
    size -= static_cast<std::uint64_t>(got);
  }
  return true;
}

Order order_of(Ask ask, std::uint64_t size) {
  Order order{static_cast<char>(ask), {}};
  for (unsigned char& byte : order.size) byte = static_cast<unsigned char>(size & 0xff), size >>= 8;
  return order;
}

std::uint64_t size_of(const Order& order) {
  std::uint64_t size = 0;
  for (auto it = order.size.rbegin(); it != order.size.rend(); ++it) size = size << 8 | *it;
  return size;
}

void serve(int socket, const std::string& token) {
  std::string said(token.size(), 0);
  if (!receive_all(socket, said.data(), said.size()) || said != token) return;
  const char byte = 1;
  for (Order order; receive_all(socket, &order, sizeof order);) {
    const std::uint64_t size = size_of(order);
    if (size > most_bytes) return;
    const bool sends = order.ask == static_cast<char>(Ask::send);
    const bool takes = order.ask == static_cast<char>(Ask::take);
    if (sends ? !send_many(socket, size) : takes && !receive_many(socket, size)) return;
    if (!sends && !send_all(socket, &byte, 1)) return;
  }
}

std::string called(const HostPort& place) { return with_port(place.host, place.port); }

// Why no connection was made, with the remedy.
std::string trouble_of(int error) {
  if (error == ECONNREFUSED)
    return "refused: nothing listens there, so another machine has this address; correct address = or listen "
           "=";
  if (error == EINPROGRESS || error == EAGAIN || error == ETIMEDOUT)
    return "no answer within 5 s: allow TCP connections to it in the firewalls between, or correct address =";
  return std::string(std::strerror(error)) + ": correct the routes between the two, or address =";
}

std::string remedy_for_listening(int error) {
  if (error == EADDRINUSE)
    return ": end the program that uses the port (`ss -ltnp` lists it), or correct port =";
  if (error == EADDRNOTAVAIL) return ": that machine has no such address; correct address = or listen =";
  return ": correct address =, listen = or port =";
}

Descriptor connected(const HostPort& to) {
  const Addresses found(to, false);
  if (found.error != 0) {
    throw Failure(ExitCode::unreachable, "the name '" + to.host + "' cannot be looked up (" +
                                             gai_strerror(found.error) +
                                             "): give a numeric address =, or add the name to /etc/hosts");
  }
  Descriptor socket(::socket(found.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  set_limits(socket.get());
  if (::connect(socket.get(), found.first->ai_addr, found.first->ai_addrlen) != 0)
    throw Failure(ExitCode::unreachable, trouble_of(errno));
  return socket;
}

// Seconds for an order until all of its answer has arrived.
double seconds_of(int socket, Ask ask, std::uint64_t size) {
  const Time began = steady_now();
  const Order order = order_of(ask, size);
  char byte = 0;
  const bool done = send_all(socket, &order, sizeof order) && (ask != Ask::take || send_many(socket, size)) &&
                    (ask == Ask::send ? receive_many(socket, size) : receive_all(socket, &byte, 1));
  if (!done) {
    throw Failure(
        ExitCode::unreachable,
        "the connection does not answer: another program has this port, or the line is cut; correct "
        "address = or port =");
  }
  return seconds(steady_now() - began);
}

// The size is doubled twice until a transfer lasts long enough.
double speed_of(int socket, Ask ask) {
  for (std::uint64_t size = first_bytes;; size *= 4) {
    const double lasted = seconds_of(socket, ask, size);
    if (lasted >= long_enough_s || size * 4 > most_bytes) return static_cast<double>(size) / lasted;
  }
}

}  // namespace

struct LineEnd::State {
  Descriptor socket;
  std::atomic<bool> over = false;
  std::thread thread{};
};

LineEnd::LineEnd(const HostPort& place, const std::string& token) : state_(std::make_unique<State>()) {
  const Addresses found(place, true);
  const auto refuse = [&](const std::string& why) {
    refuse_setup("cannot listen at " + called(place) + ": " + why);
  };
  if (found.error != 0) refuse(gai_strerror(found.error) + std::string("; correct listen ="));
  state_->socket =
      Descriptor(::socket(found.first->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int listener = state_->socket.get(), yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(listener, found.first->ai_addr, found.first->ai_addrlen) != 0 || ::listen(listener, 8) != 0)
    refuse(std::strerror(errno) + remedy_for_listening(errno));
  state_->thread = std::thread([&state = *state_, token] {
    while (!state.over) {
      pollfd it{state.socket.get(), POLLIN, 0};
      if (::poll(&it, 1, 50) <= 0) continue;
      const Descriptor visitor(::accept4(state.socket.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (visitor.get() < 0) continue;
      set_limits(visitor.get());
      serve(visitor.get(), token);
    }
  });
}

LineEnd::~LineEnd() {
  state_->over = true;
  state_->thread.join();
}

unsigned LineEnd::port() const {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  getsockname(state_->socket.get(), reinterpret_cast<sockaddr*>(&bound), &size);
  const bool ipv6 = bound.ss_family == AF_INET6;
  return ntohs(ipv6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                    : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

LineSpeed measure_line(const HostPort& to, const std::string& token, bool speed) {
  const Descriptor socket = connected(to);
  LineSpeed line;
  if (!send_all(socket.get(), token.data(), token.size()))
    throw Failure(ExitCode::unreachable, trouble_of(errno));
  line.round_trip_s = seconds_of(socket.get(), Ask::byte, 0);
  for (int i = 1; i < round_trips; ++i)
    line.round_trip_s = std::min(line.round_trip_s, seconds_of(socket.get(), Ask::byte, 0));
  if (!speed) return line;
  line.there_bytes_s = speed_of(socket.get(), Ask::take);
  line.back_bytes_s = speed_of(socket.get(), Ask::send);
  return line;
}

}  // namespace steelyard
